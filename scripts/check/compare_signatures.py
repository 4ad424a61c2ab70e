"""Apple's signature creators beside ours, over random arguments. `compare-signatures` runs it."""

import base64
import json
import random
import subprocess
import sys
import tempfile
import time
import uuid

import jwt
from appstoreserverlibrary.jws_signature_creator import (
    AdvancedCommerceAPIInAppSignatureCreator, IntroductoryOfferEligibilitySignatureCreator, PromotionalOfferV2SignatureCreator)
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeCreateRequest import AdvancedCommerceOneTimeChargeCreateRequest
from appstoreserverlibrary.models.AdvancedCommerceOneTimeChargeItem import AdvancedCommerceOneTimeChargeItem
from appstoreserverlibrary.models.AdvancedCommerceRequestInfo import AdvancedCommerceRequestInfo
from appstoreserverlibrary.promotional_offer import PromotionalOfferSignatureCreator
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

program, count, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
print(f"seed {seed}", flush=True)
rng = random.Random(seed)
private = ec.generate_private_key(ec.SECP256R1())
pem = private.private_bytes(
    serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
spki = base64.b64encode(private.public_key().public_bytes(
    serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)).decode()
KEY, ISSUER, APP = "2X9R4HXF34", str(uuid.uuid4()), "com.example.app"
ours = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def ask(**question):
    ours.stdin.write(json.dumps(question) + "\n")
    ours.stdin.flush()
    return json.loads(ours.stdout.readline())


def sign(kind, **arguments):
    return ask(request=json.dumps({"sign": kind, **arguments}))


def verifies(der, message):
    """An implementation of the original form that shares nothing with ours."""
    try:
        private.public_key().verify(der, message.encode(), ec.ECDSA(hashes.SHA256()))
        return True
    except InvalidSignature:
        return False


def text():
    letters = "abcXYZ019.-_+/= \"\\\u00e4\u00df\u6708\u0130\U0001f600"
    return "".join(rng.choice(letters) for _ in range(rng.randint(1, 20)))


def message(*parts):
    return "\u2063".join([APP, KEY, *parts])


def decoded(jws, audience):
    claims = jwt.decode(jws, private.public_key(), algorithms=["ES256"], audience=audience)
    assert jwt.get_unverified_header(jws) == {"alg": "ES256", "kid": KEY, "typ": "JWT"}
    assert abs(claims.pop("iat") - time.time()) < 10 and uuid.UUID(claims.pop("nonce")).version == 4
    return claims


ask(key=pem.decode(), settings=json.dumps({"key_id": KEY, "issuer_id": ISSUER, "bundle_id": APP}))
original = PromotionalOfferSignatureCreator(pem, KEY, APP)
creators = [creator(pem, KEY, ISSUER, APP) for creator in (
    PromotionalOfferV2SignatureCreator, IntroductoryOfferEligibilitySignatureCreator, AdvancedCommerceAPIInAppSignatureCreator)]
lowered = 0
for _ in range(count):
    product, offer, user, nonce = text(), text(), text(), uuid.uuid4()
    token = rng.choice([None, str(uuid.uuid4()), str(uuid.uuid4()).upper()])
    at, transaction = round(time.time() * 1000), rng.choice([None, str(rng.randrange(10**15))])

    # The original form: ours, by an independent implementation.
    signed = sign("original_promotional_offer", product_id=product, offer_id=offer, app_account_token=token)
    der, rest = base64.b64decode(signed["signature"], validate=True), (signed["nonce"], str(signed["timestamp"]))
    assert verifies(der, message(product, offer, (token or "").lower(), *rest)), (product, offer, token)
    signed = sign("original_promotional_offer_for_username", product_id=product, offer_id=offer, application_username=user)
    der, rest = base64.b64decode(signed["signature"], validate=True), (signed["nonce"], str(signed["timestamp"]))
    assert verifies(der, message(product, offer, user, *rest)), (product, offer, user)
    assert not verifies(der, message(product, offer, user + "x", *rest))
    # Apple's, by ours. Apple's lowers a username, too.
    for each in (token or "", user):
        theirs = original.create_signature(product, offer, each, nonce, at)
        expected = message(product, offer, each.lower(), str(nonce), str(at))
        assert ask(publicKey=spki, signature=theirs, message=expected) is True, (product, offer, each)
        assert ask(publicKey=spki, signature=theirs, message=expected + "0") is False
    lowered += user != user.lower()

    # JWS: the claims of ours are those of Apple's.
    item = AdvancedCommerceOneTimeChargeItem(SKU=product, displayName=offer, description=user, price=rng.randrange(10**6))
    request = AdvancedCommerceOneTimeChargeCreateRequest(
        requestInfo=AdvancedCommerceRequestInfo(requestReferenceId=nonce), currency="USD", taxCode="C003-00-2", item=item)
    allow = rng.random() < 0.5
    pairs = [
        ("promotional-offer", sign("promotional_offer", product_id=product, offer_id=offer, transaction_id=transaction),
         creators[0].create_signature(product, offer, transaction)),
        ("introductory-offer-eligibility",
         sign("introductory_offer_eligibility", product_id=product, allow_introductory_offer=allow, transaction_id=transaction or "1"),
         creators[1].create_signature(product, allow, transaction or "1")),
    ]
    for audience, own, theirs in pairs:
        assert decoded(own["jws"], audience) == decoded(theirs, audience), (audience, product, offer, transaction)
        assert ask(publicKey=spki, jws=theirs) is True
        assert ask(publicKey=spki, jws=theirs.replace(theirs[40], "A" if theirs[40] != "A" else "B", 1)) is False
    theirs = decoded(creators[2].create_signature(request), "advanced-commerce-api")
    request = base64.b64decode(theirs["request"]).decode()
    assert decoded(sign("advanced_commerce_request", request=request)["jws"], "advanced-commerce-api") == theirs
print(f"{count} of each kind: ours by PyJWT and cryptography, Apple's by ours; {lowered} usernames that Apple's creator changes")

original_time, jws_time = ask(count=1000)
began = time.perf_counter()
for _ in range(1000):
    original.create_signature("pro", "winback", "", uuid.uuid4(), 0)
apple = (time.perf_counter() - began) * 1000
with tempfile.NamedTemporaryFile() as key, tempfile.NamedTemporaryFile() as data:
    key.write(pem)
    data.write(message("pro", "winback", "", str(uuid.uuid4()), "0").encode())
    key.flush()
    data.flush()
    began = time.perf_counter()
    for _ in range(1000):
        subprocess.run(["openssl", "dgst", "-sha256", "-sign", key.name, data.name], stdout=subprocess.DEVNULL, check=True)
    openssl = (time.perf_counter() - began) * 1000
speed = subprocess.run(["openssl", "speed", "-seconds", "1", "-mr", "ecdsap256"], capture_output=True, text=True).stdout
# Signatures and verifications each second.
inside = next(float(line.split(":")[3]) for line in speed.splitlines() if line.startswith("+F4:"))
print(f"1000 signatures, µs each: ours {original_time:.0f} (original form) and {jws_time:.0f} (JWS), Apple's {apple:.0f}, "
      f"openssl dgst -sign {openssl:.0f} with its process, and {1e6 / inside:.0f} inside it (openssl speed)")
