package appstorereceipt;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Runs the shared cases. It is in the library's package to read their JSON with the library's reader. */
public final class CasesTest {
    private CasesTest() {}

    static byte[] file(Object name) {
        try {
            return Files.readAllBytes(Path.of("../../TestVectors", (String) name));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static void same(Object expected, Object found, String what) {
        if (!Objects.equals(expected, found)) throw new AssertionError(what + "\nexpected " + expected + "\nfound " + found);
    }

    static List<String> texts(Object value) {
        return value == null ? List.of() : Json.array(value).stream().map(String.class::cast).toList();
    }

    static List<byte[]> files(Object names) {
        return texts(names).stream().map(CasesTest::file).toList();
    }

    static Instant date(Object milliseconds) {
        return milliseconds == null ? null
            : milliseconds.equals("now") ? Instant.MAX : Instant.ofEpochMilli((Long) milliseconds);
    }

    static Options options(Map<String, Object> json) {
        Object age = json.get("maximum_age");
        return new Options(
            texts(json.get("bundle_ids")), texts(json.get("environments")), (String) json.get("app_apple_id"),
            files(json.get("roots")), files(json.get("transaction_receipt_issuers")),
            json.get("storekit_testing") == Boolean.TRUE, texts(json.get("distrusted")),
            age == null ? null : Duration.ofSeconds((Long) age), date(json.get("validation_date")),
            json.get("allows_rsa_1024") == Boolean.TRUE, date(json.get("clock")));
    }

    static void run(Map<String, Object> test) {
        String name = (String) test.get("name");
        Map<String, Object> expected = Json.object(test.get("expect"));
        List<byte[]> evidence = files(test.get("evidence"));
        String json = null;
        VerificationError error = null;
        long status = 0;
        try (Verifier verifier = new Verifier(options(Json.object(test.get("options"))))) {
            switch ((String) test.get("call")) {
                case "new" -> { }
                case "verify" -> {
                    Form form = Form.valueOf(((String) test.get("json")).toUpperCase());
                    json = verifier.verdictJson(evidence.get(0), form);
                    Evidence verified = verifier.verify(evidence.get(0), form);
                    same(json, verified.verdictJson(), name);
                    // The library names the kind in the brief verdict. The binding finds it in the full one.
                    if (form == Form.FULL) same(verifier.verify(evidence.get(0), Form.BRIEF).verdict().get("kind"), verified.kind(), name);
                }
                case "entitlements" -> {
                    Entitlements entitlements = verifier.entitlements(evidence, date(test.get("date")));
                    json = entitlements.json();
                    error = entitlements.error();
                }
                case "answer" -> {
                    Answer answer = verifier.answer(evidence.get(0), test.get("latest_receipt_info") == Boolean.TRUE);
                    json = answer.json();
                    error = answer.error();
                }
                case "decode" -> {
                    json = Verifier.decodeUnverified(evidence.get(0));
                    status = 5;
                }
                default -> throw new AssertionError("unknown call");
            }
        } catch (VerificationError thrown) {
            error = thrown;
            json = thrown.verdictJson();
        }
        same(expected.get("status"), error == null ? status : error.status(), name);
        same(expected.get("code"), error == null ? "" : error.code(), name);
        same(expected.get("category"), error == null ? "" : error.category(), name);
        same(expected.get("json"), json, name);
    }

    static void isUsage(Options options) {
        try (Verifier verifier = new Verifier(options)) {
            throw new AssertionError(options + " is accepted by " + verifier);
        } catch (VerificationError error) {
            same("usage", error.code(), options.toString());
        }
    }

    public static void main(String[] arguments) throws Exception {
        List<Object> cases = Json.array(Json.parse(Files.readString(Path.of("../cases/cases.json"))));
        for (Object test : cases) run(Json.object(test));

        isUsage(new Options("com.example.app", "nowhere"));
        isUsage(new Options("a\0b", "production"));
        same(Json.parse("[\"\\u00e9\\n\\\"/\",-1,1.5,null,{\"a\":[]}]").toString(), "[é\n\"/, -1, 1.5, null, {a=[]}]", "JSON");

        Map<String, Object> first = Json.object(cases.get(0));
        byte[] receipt = file("receipts/1-purchase.der");
        Verifier verifier = new Verifier(options(Json.object(first.get("options"))));
        for (Form form : List.of(Form.FULL, Form.BRIEF)) {
            Evidence evidence = verifier.verify(receipt, form);
            same("receipt", evidence.kind(), "kind");
            same(form == Form.FULL ? "com.example.app" : null, evidence.contents() == null ? null : evidence.contents().get("bundle_id"), "contents");
            same(Instant.ofEpochSecond(1749988800), evidence.trust().validatedAt(), "trust");
        }
        VerificationError refused = verifier.entitlements(List.of(receipt, new byte[0])).error();
        same("the input is empty", refused.getMessage(), "the error of a refused piece");
        IntStream.range(0, 200).parallel().forEach(i -> same(true, verifier.accepts(receipt), "accepts"));
        same(false, verifier.accepts(new byte[0]), "accepts");
        same(203L, verifier.counts().get("verified"), "counts");

        for (int i = 0; i < 10_000; i++) verifier.verdictJson(receipt, Form.FULL);
        long began = System.nanoTime();
        for (int i = 0; i < 10_000; i++) verifier.verdictJson(receipt, Form.FULL);
        double time = (System.nanoTime() - began) / 1000.0 / 10_000;
        verifier.close();
        verifier.close();
        try {
            verifier.verdictJson(receipt, Form.FULL);
            throw new AssertionError("a closed verifier verified");
        } catch (IllegalStateException closed) {
            same("the verifier is closed", closed.getMessage(), "closed");
        }
        System.out.printf("java: %d cases; %.1f µs per call%n", cases.size(), time);
    }
}
