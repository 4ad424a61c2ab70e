"""Apple's verifier beside ours over random JWS. usage: compare_with_apple.py RECEIPT COUNT SEED

Each JWS has a random payload, is signed through one of several chains, and half of them have a fault, or two. Both
verifiers are to accept the same. Where they differ, REASONS says why, by our code and what was done to the JWS; a
difference without a reason fails."""

import base64, datetime, json, random, subprocess, sys, tempfile
from collections import Counter
from pathlib import Path

from appstoreserverlibrary.models.Environment import Environment
from appstoreserverlibrary.signed_data_verifier import SignedDataVerifier, VerificationException
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa, utils
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
random = random.Random(seed)
BUNDLE, APPLE_ID = "com.example.app", 1234567890
SIGNED = 1_735_689_600_000
LEAF, INTERMEDIATE = "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1"

# What Apple's verifier accepts and ours refuses, by our code: what is wrong with such a JWS, one of which it has, and
# why it is refused.
REASONS = {
    "unexpected-character": ("UTF-16|a byte order mark|NaN", "RFC 8259: JSON is UTF-8 without a mark, and has no NaN; Python's reader takes all of them"),
    "duplicate-member": ("alg twice|a member of the payload twice", "RFC 7515, 4: no name twice; Python's reader takes the last one, others the first"),
    "untrusted-chain": ("another root", "Apple's does not read the third certificate; ours has to be the trusted root"),
    "signed-date-missing": ("without a date of signing", "Apple's takes the clock's date instead: a leaf that expired since is then refused, ours names what is missing"),
    "invalid-key-usage": ("leaf not for signatures|leaf a CA", "RFC 5280, 4.2.1.3: the signer's key is for digital signatures; Apple's checks the chain, not the use"),
    "foreign-key": ("jku and jwk", "a header that names another key is an attack on readers that use it (RFC 7515, 10)"),
    "invalid-base64url": ("padding|not canonical base64", "RFC 7515, 2: base64url without padding; PyJWT takes it"),
    "invalid-escape": ("a lone surrogate", "half a surrogate pair is no text; Python's reader makes a string of it that cannot be stored"),
    "critical-header": ("b64|crit", "RFC 7797: the member is critical, and changes what is signed"),
    "unexpected-type": ("another Apple id|an id of no kind|an unknown type|a quantity of no kind|a date of no kind", "a member of another type than documented; Apple's converts it, or takes it as it is"),
    "unexpected-value": ("another Apple id|a quantity of no kind|a date of no kind", "a number with a fraction, or below zero"),
    "number-out-of-range": ("a quantity of no kind|a date of no kind", "no 64 bits hold the number"),
    "bundle-id-missing": ("an id of no kind", "a payload with transactionId is a transaction, also if it has no id and is of a renewal"),
    "bundle-id-mismatch": ("an id of no kind", "a payload with transactionId is a transaction; Apple's compares no app in renewal information"),
    "missing-member": ("an id of no kind", "a transaction without its id cannot be granted once"),
    "unsupported-key": ("intermediate RSA", "Apple signs these with keys on P-256 and P-384 only"),
    "nesting-too-deep": ("nested deeply", "a limit of ours: 64 levels"),
}
# What ours accepts and Apple's refuses: this is all that is wrong with it.
ALONE, NO_APP = "leaf without identifiers", "unclaimed seats of no app"
# Ours passes over these, and Apple's verifier says this of nothing else in such a JWS.
PASSED_OVER = {NO_APP: "INVALID_APP_IDENTIFIER", "without a bundle id": "INVALID_APP_IDENTIFIER", "without an environment": "INVALID_ENVIRONMENT"}
OURS_ACCEPTS = (
    f"white space around|{ALONE}|{NO_APP}|part without a bundle id|part without an environment",
    "white space around a line is none of the JWS; OpenSSL's strict mode wants key identifiers, by which nothing is proved; a notification about claims"
    " of the developer's server names no app; its own app and environment are those of its parts")


def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


# Certificates

def date(text):
    return datetime.datetime.fromisoformat(text)


def certificate(subject, key, issuer, issuer_key, *, marker=None, is_ca=False, path_length=None, usage="usual", begin="2020-01-01", end="2040-01-01",
                digest=hashes.SHA256(), identifiers=True):
    builder = (
        x509.CertificateBuilder().subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)]))
        .issuer_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, issuer)])).public_key(key.public_key())
        .serial_number(x509.random_serial_number()).not_valid_before(date(begin)).not_valid_after(date(end))
        .add_extension(x509.BasicConstraints(is_ca, path_length), True))
    if usage:
        signs = is_ca if usage == "usual" else False
        builder = builder.add_extension(
            x509.KeyUsage(not is_ca and usage == "usual", False, usage == "encipherment", False, False, signs, signs, False, False), True)
    if identifiers:
        builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), False)
        if subject != issuer:
            builder = builder.add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key()), False)
    if marker:
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(marker), b"\x05\x00"), False)
    return builder.sign(issuer_key, digest)


def p256():
    return ec.generate_private_key(ec.SECP256R1())


root_key, middle_key, leaf_key, strange_key = ec.generate_private_key(ec.SECP384R1()), ec.generate_private_key(ec.SECP384R1()), p256(), p256()
root = certificate("Root", root_key, "Root", root_key, is_ca=True)
strange_root = certificate("Root", strange_key, "Root", strange_key, is_ca=True)
MIDDLES = {
    "usual": {}, "P-256": {"key": p256()}, "without its marker": {"marker": None}, "no CA": {"is_ca": False}, "path length 0": {"path_length": 0},
    "expired": {"end": "2024-01-01"}, "not yet valid": {"begin": "2030-01-01"}, "may not sign certificates": {"usage": "encipherment"},
    "by a stranger": {"issuer_key": strange_key}, "RSA": {"key": rsa.generate_private_key(65537, 2048)}, "SHA-384": {"digest": hashes.SHA384()},
}
LEAVES = {
    "usual": {}, "without its marker": {"marker": None}, "a CA": {"is_ca": True}, "expired": {"end": "2024-01-01"},
    "not yet valid": {"begin": "2030-01-01"}, "not for signatures": {"usage": "encipherment"}, "without a usage": {"usage": None},
    "by a stranger": {"issuer_key": strange_key}, "of another issuer": {"issuer": "Somebody"}, "P-384": {"key": ec.generate_private_key(ec.SECP384R1())},
    "without identifiers": {"identifiers": False}, "SHA-512": {"digest": hashes.SHA512()},
}


def chains():
    for middle, changes in MIDDLES.items():
        options = {"key": middle_key, "issuer": "Root", "issuer_key": root_key, "marker": INTERMEDIATE, "is_ca": True, **changes}
        key = options.pop("key")
        second = certificate("Middle", key, **options)
        for leaf, changes in LEAVES.items():
            if middle != "usual" and leaf != "usual":
                continue
            options = {"key": leaf_key, "issuer": "Middle", "issuer_key": key, "marker": LEAF, **changes}
            own = options.pop("key")
            fault = " and ".join(f"{name} {what}" for name, what in (("intermediate", middle), ("leaf", leaf)) if what != "usual")
            yield fault, (certificate("Leaf", own, **options), second, root), own


CHAINS = list(chains())


# Payloads

def word():
    return "".join(random.choice(["a", "Z", "7", ".", "ß", "é", "e\u0301", "安", "😀", "\"", "\\", "\n", " ", "ſ", "\u0000"]) for _ in range(random.randrange(12)))


def transaction():
    members = {
        "transactionId": str(random.randrange(1, 10**15)), "originalTransactionId": str(random.randrange(1, 10**15)), "bundleId": BUNDLE,
        "productId": "coins", "purchaseDate": SIGNED - random.randrange(10**10), "originalPurchaseDate": SIGNED - 10**10, "quantity": random.randrange(1, 11),
        "type": random.choice(["Consumable", "Non-Consumable", "Non-Renewing Subscription"]), "inAppOwnershipType": "PURCHASED",
        "signedDate": SIGNED, "environment": "Production", "storefront": "USA", "storefrontId": "143441", "transactionReason": "PURCHASE",
    }
    if random.random() < 0.3:
        members |= {"type": "Auto-Renewable Subscription", "expiresDate": SIGNED + 10**9, "subscriptionGroupIdentifier": "1", "webOrderLineItemId": "2"}
        if random.random() < 0.5:
            members |= {
                "multiSeatInfo": {
                    "invitationManagement": random.choice(["APPLE", "DEVELOPER"]), "priceTiers": [{"price": 990, "quantity": 5}],
                    "revokedSeatQuantity": random.randrange(11)},
                "inAppOwnershipType": random.choice(["PURCHASED", "ASSIGNED"]), "offerType": random.randrange(1, 6)}
        if random.random() < 0.3:
            members["additionalTransactionReason"] = "SEAT_ADDITION"
    if random.random() < 0.3:
        members |= {"price": random.randrange(10**7), "currency": random.choice(["USD", "EUR", "CNY"])}
    if random.random() < 0.2:
        members |= {"revocationDate": SIGNED, "revocationReason": random.randrange(2)}
    if random.random() < 0.2:
        members["appAccountToken"] = "7e3fb204-1c4f-4d5b-9f3b-0123456789ab"
    return members


def renewal():
    members = {
        "originalTransactionId": "1", "autoRenewProductId": "monthly", "productId": "monthly", "autoRenewStatus": random.randrange(2),
        "signedDate": SIGNED, "environment": "Production", "recentSubscriptionStartDate": SIGNED - 10**9, "renewalDate": SIGNED + 10**9,
    }
    if random.random() < 0.3:
        members["expirationIntent"] = random.randrange(1, 6)
    if random.random() < 0.3:
        members |= {
            "renewalQuantity": random.randrange(1, 11), "multiSeatInfo": {"renewalPriceTiers": [{"price": 990, "quantity": 5}]}, "offerType": 5}
    return members


def app_transaction():
    return {
        "receiptType": "Production", "appAppleId": APPLE_ID, "bundleId": BUNDLE, "applicationVersion": "1", "receiptCreationDate": SIGNED,
        "originalPurchaseDate": SIGNED - 10**10, "originalApplicationVersion": "1", "deviceVerification": "AAAA",
        "deviceVerificationNonce": "7e3fb204-1c4f-4d5b-9f3b-0123456789ab", "appTransactionId": "1", "originalPlatform": "iOS",
    }


def notification():
    data = {"bundleId": BUNDLE, "bundleVersion": "1", "environment": "Production", "appAppleId": APPLE_ID}
    parts = []
    if random.random() < 0.7:
        inner = JWS("transaction")
        parts.append(inner)
        data["signedTransactionInfo"] = inner.text
    if random.random() < 0.4:
        inner = JWS("renewal_info")
        parts.append(inner)
        data["signedRenewalInfo"] = inner.text
    kind = random.choice(["DID_RENEW", "REFUND", "TEST", "SUBSCRIBED", "ONE_TIME_CHARGE", "UNCLAIM_SEATS"])
    members = {"notificationType": kind, "notificationUUID": "7e3fb204-1c4f-4d5b-9f3b-0123456789ab", "version": "2.0", "signedDate": SIGNED}
    if kind == "REFUND" and random.random() < 0.5:
        members["subtype"] = "SEATS"
    if kind == "UNCLAIM_SEATS":
        return members | {"unclaimInfo": {"unclaimSeatIds": ["7e3fb204-1c4f-4d5b-9f3b-0123456789ab"]}}, []
    return members | {"data": data}, parts


def place(members):
    return members["data"] if isinstance(members.get("data"), dict) else members


def set_member(name, *values):
    def change(members):
        place(members)[name] = random.choice(values)
    return change


# What is wrong with a payload, before it is signed.
PAYLOAD_FAULTS = {
    "another app": set_member("bundleId", "com.example.other", "com.example.app ", "Com.example.app"),
    "sandbox": lambda members: members.update({"receiptType": "Sandbox"}) if "receiptType" in members else set_member("environment", "Sandbox")(members),
    "an environment of no kind": lambda members: members.update({"receiptType": "Nowhere"}) if "receiptType" in members
    else set_member("environment", "Nowhere", "production", 3)(members),
    "without a bundle id": lambda members: place(members).pop("bundleId", None),
    "without an environment": lambda members: (place(members).pop("environment", None), members.pop("receiptType", None)),
    "without a date of signing": lambda members: (members.pop("signedDate", None), members.pop("receiptCreationDate", None)),
    "another Apple id": set_member("appAppleId", 1, "1234567890", 1234567890.0),
    "a quantity of no kind": set_member("quantity", "3", 1.5, -1, 2**63, True, [], None),
    "a date of no kind": set_member("purchaseDate", "yesterday", 1.5, -1, 10**30, None, {}),
    "an id of no kind": set_member("transactionId", 1, None, "", {}),
    "a signing date before the certificates": lambda members: members.update({"receiptCreationDate" if "receiptType" in members else "signedDate": 10**12}),
    "an unknown member": lambda members: members.update({"x" + word(): [{"a": [None, True, word()]}]}),
    "an unknown type": set_member("type", "Something", 1),
}


# What is wrong with the text, or with how it is signed.
def flipped(text, index):
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    return text[:index] + alphabet[(alphabet.index(text[index]) + random.randrange(1, 64)) % 64] + text[index + 1:]


class JWS:
    def __init__(self, kind=None):
        self.faults, self.parts = [], []
        self.kind = kind or random.choice(["transaction", "renewal_info", "app_transaction", "notification", "notification"])
        makers = {"transaction": transaction, "renewal_info": renewal, "app_transaction": app_transaction}
        if self.kind == "notification":
            self.members, self.parts = notification()
            if "data" not in self.members:
                self.faults.append(NO_APP)
        else:
            self.members = makers[self.kind]()
        broken = random.random() < (0.5 if kind is None else 0.15)
        self.chain = CHAINS[0]
        if broken and random.random() < 0.3:
            self.chain = random.choice(CHAINS[1:])
            # Alone, so that it explains nothing else.
            if self.chain[0] == ALONE and (kind or any(part.faults for part in self.parts)):
                self.chain = CHAINS[1]
            self.faults.append(self.chain[0])
            broken = self.chain[0] != ALONE
        if broken and random.random() < 0.4:
            name = random.choice(list(PAYLOAD_FAULTS))
            PAYLOAD_FAULTS[name](self.members)
            self.faults.append(name)
        self.write(broken)

    def write(self, broken):
        header = {"alg": "ES256", "x5c": [base64.b64encode(c.public_bytes(Encoding.DER)).decode() for c in self.chain[1]]}
        form = None
        if broken and random.random() < 0.5 or broken and not self.faults:
            form = random.choice([
                "alg", "without x5c", "an empty x5c", "two certificates", "four certificates", "another root", "certificates in another order",
                "x5c with line breaks", "x5c in base64url", "x5c no list", "crit", "b64", "kid and typ", "jku and jwk", "alg twice", "a member of the payload twice",
                "the payload no object", "the payload no JSON", "UTF-16", "not UTF-8", "a byte order mark", "nested deeply", "padding", "not canonical base64",
                "an empty part", "two parts", "four parts", "a flipped bit", "cut off", "DER signature", "another key", "signature's other s",
                "white space around", "signature of zeros", "standard base64", "NaN", "a lone surrogate", "a comma too many", "a comment"])
            self.faults.append(form)
        if form == "alg":
            header["alg"] = random.choice(["none", "HS256", "ES384", "es256", "ES256 ", None, 1, "RS256"])
        elif form == "without x5c":
            del header["x5c"]
        elif form == "an empty x5c":
            header["x5c"] = []
        elif form == "two certificates":
            header["x5c"].pop()
        elif form == "four certificates":
            header["x5c"].append(header["x5c"][2])
        elif form == "another root":
            header["x5c"][2] = base64.b64encode(strange_root.public_bytes(Encoding.DER)).decode()
        elif form == "certificates in another order":
            random.shuffle(header["x5c"])
        elif form == "x5c with line breaks":
            header["x5c"][0] = header["x5c"][0][:64] + "\n" + header["x5c"][0][64:]
        elif form == "x5c in base64url":
            header["x5c"] = [x.replace("+", "-").replace("/", "_") for x in header["x5c"]]
        elif form == "x5c no list":
            header["x5c"] = random.choice([header["x5c"][0], {}, None, [1, 2, 3]])
        elif form == "crit":
            header |= {"crit": random.choice([["exp"], [], ["b64"], "exp"]), "exp": 1}
        elif form == "b64":
            header |= {"b64": random.choice([True, False])}
        elif form == "kid and typ":
            header |= {"kid": "Apple", "typ": "JWT"}
        elif form == "jku and jwk":
            header |= {"jku": "https://example.com", "jwk": {"kty": "EC"}}
        head = json.dumps(header)
        if form == "alg twice":
            head = head.replace('"alg"', '"alg": "none", "alg"', 1)
        body = json.dumps(self.members, ensure_ascii=random.random() < 0.5, indent=random.choice([None, 2])).encode("utf-8", "surrogatepass")
        if form == "a member of the payload twice":
            body = body.replace(b"{", b'{"bundleId": "com.example.other",', 1)
        elif form == "the payload no object":
            body = random.choice([b"[]", b"1", b'"x"', b"null"])
        elif form == "the payload no JSON":
            body = random.choice([b"", b"{", b"{'a': 1}", body[:-1], body + b"x"])
        elif form == "UTF-16":
            body = body.decode("utf-8", "replace").encode("utf-16")
        elif form == "not UTF-8":
            body = body.replace(b"{", b'{"y": "\xff\xfe",', 1)
        elif form == "a byte order mark":
            body = b"\xef\xbb\xbf" + body
        elif form == "nested deeply":
            depth = random.choice([10, 60, 500])
            body = body.replace(b"{", b'{"z": ' + b"[" * depth + b"]" * depth + b",", 1)
        elif form == "NaN":
            body = body.replace(b"{", b'{"n": ' + random.choice([b"NaN", b"Infinity", b"01", b"+1", b".5"]) + b",", 1)
        elif form == "a lone surrogate":
            body = body.replace(b"{", b'{"s": "\\ud800",', 1)
        elif form == "a comma too many":
            body = body[:-1] + b",}"
        elif form == "a comment":
            body = b"/* x */" + body
        signed = base64url(head.encode()) + "." + base64url(body)
        if form == "padding":
            signed = ".".join(part + "=" * (-len(part) % 4) for part in signed.split("."))
        elif form == "standard base64":
            signed = signed.replace("-", "+").replace("_", "/")
        key = strange_key if form == "another key" else self.chain[2]
        digest = hashes.SHA384() if isinstance(key.curve, ec.SECP384R1) else hashes.SHA256()
        der = key.sign(signed.encode(), ec.ECDSA(digest))
        r, s = utils.decode_dss_signature(der)
        size = (key.curve.key_size + 7) // 8
        if form == "signature's other s":
            s = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551 - s
            size = 32
        if form == "signature of zeros":
            r = s = 0
        signature = der if form == "DER signature" else (r % 2**(8 * size)).to_bytes(size, "big") + (s % 2**(8 * size)).to_bytes(size, "big")
        text = signed + "." + base64url(signature)
        if form == "not canonical base64":
            text = text[:-1] + flipped_low_bits(text[-1])
        elif form == "an empty part":
            parts = text.split(".")
            parts[random.randrange(3)] = ""
            text = ".".join(parts)
        elif form == "two parts":
            text = text.rpartition(".")[0]
        elif form == "four parts":
            text += "." + random.choice(["", "AAAA"])
        elif form == "a flipped bit":
            index = random.choice([i for i, c in enumerate(text[:-2]) if c not in ".="])
            text = flipped(text, index) if text[index] not in "+/" else text[:index] + "A" + text[index + 1:]
        elif form == "cut off":
            text = text[:random.randrange(1, len(text))]
        elif form == "white space around":
            text = random.choice([" ", "\t"]) + text + " "
        self.text = text

    def all_faults(self):
        return self.faults + [f"part: {fault}" for part in self.parts for fault in part.faults]


def flipped_low_bits(character):
    """The last character of 86, of whose bits four say nothing."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    index = alphabet.index(character)
    return alphabet[index & 0x30 | (index + random.randrange(1, 16)) & 0xF]


# Verdicts

verifier = SignedDataVerifier([root.public_bytes(Encoding.DER)], False, Environment.PRODUCTION, BUNDLE, APPLE_ID)


def apples_status(kind, text):
    """None, or what Apple's verifier says."""
    calls = {"transaction": "signed_transaction"}
    try:
        getattr(verifier, "verify_and_decode_" + calls.get(kind, kind))(text)
        return None
    except VerificationException as error:
        return error.status.name
    except Exception as error:  # It documents VerificationException, and raises others, too.
        return type(error).__name__


def apples_verdict(jws, is_strict=True):
    """None, or what Apple's verifier says of it or of its parts. If it is not strict, that is without what ours passes
    over."""
    for piece in [jws, *jws.parts]:
        status = apples_status(piece.kind, piece.text if is_strict else piece.text.strip())
        passed_over = [fault for fault in piece.faults if PASSED_OVER.get(fault) == status and (piece is not jws or fault == NO_APP)]
        if status and (is_strict or not passed_over):
            return status
    return None


all_jws = [JWS() for _ in range(count)]
with tempfile.TemporaryDirectory() as folder:
    anchor, lines = Path(folder, "root.der"), Path(folder, "lines")
    anchor.write_bytes(root.public_bytes(Encoding.DER))
    lines.write_text("".join(jws.text.replace("\n", "") + "\n" for jws in all_jws))
    run = subprocess.run(
        [program, "batch", "--bundle-id", BUNDLE, "--environment", "production", "--app-apple-id", str(APPLE_ID), "--root", anchor, "--brief",
         "--allow-refused", "--quiet", lines], capture_output=True, text=True, check=True)
verdicts = [json.loads(line) for line in run.stdout.splitlines()]
assert len(verdicts) == count, f"{len(verdicts)} verdicts"

agreed, differences, unexplained = Counter(), {}, []
for jws, verdict in zip(all_jws, verdicts):
    ours = None if verdict["verified"] else verdict["error"]["code"]
    apples = apples_verdict(jws)
    if (ours is None) == (apples is None):
        agreed["accepted" if ours is None else "refused"] += 1
        continue
    differences.setdefault(ours, []).append(jws)
    faults = {fault.removeprefix("part: ") for fault in jws.all_faults()}
    if ours is None:
        is_explained = faults - {NO_APP} == {ALONE} or apples_verdict(jws, is_strict=False) is None
    else:
        is_explained = faults & set(REASONS.get(ours, ("", ""))[0].split("|"))
    if not is_explained:
        unexplained.append((ours, apples, jws))
print(f"seed {seed}: {count} JWS; both accept {agreed['accepted']} and refuse {agreed['refused']}")
for ours, found in sorted(differences.items(), key=lambda item: -len(item[1])):
    faults, reason = REASONS.get(ours, ("", "no reason is stored")) if ours else OURS_ACCEPTS
    print(f"{len(found):5} {ours + ', Apple accepts' if ours else 'accepted, Apple refuses'} ({faults.replace('|', ', ')}): {reason}")
for ours, apples, jws in unexplained[:20]:
    print(f"without a reason: ours {ours or 'verified'}, Apple's {apples or 'verified'}, {jws.kind}, {jws.all_faults()}\n{jws.text}")
print(f"{sum(map(len, differences.values()))} differences of {len(differences)} kinds, {len(unexplained)} without a reason")
sys.exit(bool(unexplained))
