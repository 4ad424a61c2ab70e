package appstorereceipt;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.KeyFactory;
import java.security.PublicKey;
import java.security.Signature;
import java.security.spec.X509EncodedKeySpec;
import java.util.Base64;
import java.util.List;
import java.util.stream.StreamSupport;

/** Runs the shared cases of signatures, which {@link Signature} verifies. */
public final class SigningTest {
    private static final Path CASES = Path.of("../cases");
    private static final String UUID = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}";
    private static JsonObject shared;

    private SigningTest() {}

    interface Call {
        Object perform() throws VerificationError;
    }

    private static byte[] file(String name) throws Exception {
        return Files.readAllBytes(CASES.resolve("signing").resolve(name));
    }

    private static String text(JsonObject object, String name) {
        JsonElement value = object.get(name);
        return value == null || value.isJsonNull() ? null : value.getAsString();
    }

    private static boolean verifies(String algorithm, byte[] signature, String message) throws Exception {
        String pem = new String(file(text(shared, "public_key")), UTF_8).replaceAll("-----[^-]+-----|\\s", "");
        PublicKey key = KeyFactory.getInstance("EC").generatePublic(new X509EncodedKeySpec(Base64.getDecoder().decode(pem)));
        Signature verifier = Signature.getInstance(algorithm);
        verifier.initVerify(key);
        verifier.update(message.getBytes(UTF_8));
        return verifier.verify(signature);
    }

    private static void checkJws(String jws, JsonObject expected, String name) throws Exception {
        String[] parts = jws.split("\\.", -1);
        CasesTest.same(3, parts.length, name);
        JsonObject header = JsonParser.parseString(new String(Base64.getUrlDecoder().decode(parts[0]), UTF_8)).getAsJsonObject();
        JsonObject claims = JsonParser.parseString(new String(Base64.getUrlDecoder().decode(parts[1]), UTF_8)).getAsJsonObject();
        CasesTest.same("ES256 JWT " + text(shared, "key_id"), text(header, "alg") + " " + text(header, "typ") + " " + text(header, "kid"), name);
        long age = System.currentTimeMillis() / 1000 - claims.remove("iat").getAsLong();
        CasesTest.same(true, age >= 0 && age < 10 && claims.remove("nonce").getAsString().matches(UUID), name);
        expected.addProperty("iss", text(shared, "issuer_id"));
        expected.addProperty("bid", text(shared, "bundle_id"));
        CasesTest.same(expected, claims, name);
        byte[] signature = Base64.getUrlDecoder().decode(parts[2]);
        CasesTest.same(64, signature.length, name);
        CasesTest.same(true, verifies("SHA256withECDSAinP1363Format", signature, parts[0] + "." + parts[1]), name);
    }

    private static void checkOriginal(PromotionalOfferSignature offer, List<String> expected, String name) throws Exception {
        long age = System.currentTimeMillis() - offer.timestamp();
        CasesTest.same(true, age >= 0 && age < 10000 && offer.nonce().matches(UUID), name);
        CasesTest.same(text(shared, "key_id"), offer.keyId(), name);
        String message = String.join("\u2063", expected) + "\u2063" + offer.nonce() + "\u2063" + offer.timestamp();
        CasesTest.same(true, verifies("SHA256withECDSA", Base64.getDecoder().decode(offer.signature()), message), name);
    }

    private static void refused(int status, String code, String category, String argument, String kind, Call call, String name) {
        try {
            call.perform();
        } catch (VerificationError error) {
            CasesTest.same(status + code + category, error.status() + error.code() + error.category(), name);
            JsonObject details = error.verdictJson() == null ? new JsonObject()
                : JsonParser.parseString(error.verdictJson()).getAsJsonObject().getAsJsonObject("error");
            CasesTest.same(argument, text(details, "argument"), name);
            CasesTest.same(true, error.message().contains(kind == null ? "" : kind), name);
            return;
        }
        throw new AssertionError(name + " was signed");
    }

    private static void refused(JsonObject expect, Call call, String name) {
        refused(expect.get("status").getAsInt(), text(expect, "code"), text(expect, "category"), text(expect, "argument"),
            text(expect, "kind"), call, name);
    }

    private static Object sign(Signer signer, String call, JsonObject a) throws VerificationError {
        String product = text(a, "product_id"), offer = text(a, "offer_id"), transaction = text(a, "transaction_id");
        return switch (call) {
            case "promotional_offer" -> signer.signPromotionalOffer(product, offer, transaction);
            case "original_promotional_offer" -> signer.signOriginalPromotionalOffer(product, offer, text(a, "app_account_token"));
            case "original_promotional_offer_for_username" ->
                signer.signOriginalPromotionalOfferForUsername(product, offer, text(a, "application_username"));
            case "introductory_offer_eligibility" ->
                signer.signIntroductoryOfferEligibility(product, a.get("allow_introductory_offer").getAsBoolean(), transaction);
            case "advanced_commerce_request" -> signer.signAdvancedCommerceRequest(text(a, "request"));
            default -> throw new AssertionError(call);
        };
    }

    public static void main(String[] arguments) throws Exception {
        shared = JsonParser.parseString(Files.readString(CASES.resolve("signing.json"))).getAsJsonObject();
        String keyId = text(shared, "key_id"), issuerId = text(shared, "issuer_id"), bundleId = text(shared, "bundle_id");
        byte[] key = file(text(shared, "key"));
        Signer signer = new Signer(keyId, issuerId, bundleId, key);
        int count = 0;
        for (JsonElement element : shared.getAsJsonArray("cases")) {
            JsonObject test = element.getAsJsonObject(), expect = test.getAsJsonObject("expect");
            String name = text(test, "name");
            Call call = () -> sign(signer, text(test, "call"), test.getAsJsonObject("arguments"));
            if (expect.has("code")) refused(expect, call, name);
            else if (expect.has("claims")) checkJws((String) call.perform(), expect.getAsJsonObject("claims"), name);
            else checkOriginal((PromotionalOfferSignature) call.perform(),
                StreamSupport.stream(expect.getAsJsonArray("message").spliterator(), false).map(JsonElement::getAsString).toList(), name);
            count++;
        }
        for (JsonElement element : shared.getAsJsonArray("keys")) {
            JsonObject row = element.getAsJsonObject(), expect = row.getAsJsonObject("expect");
            byte[] contents = file(text(row, "file"));
            Call make = () -> new Signer(keyId, issuerId, bundleId, contents);
            if (expect.get("status").getAsInt() == 0) make.perform();
            else refused(expect, make, text(row, "file"));
        }
        for (JsonElement element : shared.getAsJsonArray("ids")) {
            JsonObject row = element.getAsJsonObject();
            String argument = text(row, "argument"), value = text(row, "value");
            refused(row.getAsJsonObject("expect"), () -> new Signer(
                argument.equals("key_id") ? value : "1", argument.equals("issuer_id") ? value : "2",
                argument.equals("bundle_id") ? value : "3", key), argument);
        }
        Path path = Files.createTempFile("key", ".p8");
        Files.write(path, key);
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-------"));
        new Signer(keyId, issuerId, bundleId, path).close();
        Files.setPosixFilePermissions(path, PosixFilePermissions.fromString("rw-r-----"));
        refused(3, "key-accessible-to-others", "host", null, null, () -> new Signer(keyId, issuerId, bundleId, path), "rights");
        Files.delete(path);
        refused(3, "key-no-credential", "host", null, null, () -> Signer.withCredential(keyId, issuerId, bundleId, "../a"), "credential");
        refused(1, "invalid-argument", "client", "transaction_id", null,
            () -> signer.signIntroductoryOfferEligibility("a", true, null), "null");
        refused(4, "usage", "host", null, null, () -> signer.signPromotionalOffer("\ud800", "b", null), "half a pair");
        signer.close();
        signer.close();
        try {
            signer.signPromotionalOffer("a", "b", null);
            throw new AssertionError("a closed signer signed");
        } catch (IllegalStateException expected) {
            System.out.println("java: " + count + " cases of signatures");
        }
    }
}
