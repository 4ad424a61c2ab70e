package appstorereceipt;

import com.google.gson.annotations.SerializedName;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.stream.IntStream;

/** Runs the shared cases. It is in the library's package to read them with its {@code Json}. */
public final class CasesTest {
    private CasesTest() {}

    static byte[] file(String name) {
        try {
            return Files.readAllBytes(Path.of("../../TestVectors", name));
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
    }

    static void same(Object expected, Object found, String what) {
        if (!Objects.equals(expected, found)) throw new AssertionError(what + "\nexpected " + expected + "\nfound " + found);
    }

    /** A case of cases.json, as Gson reads it. */
    record Case(
        String name, String call, String json, Choices options, List<String> evidence, long date, String environment,
        boolean latestReceiptInfo,
        Expectation expect, Map<String, String> jsonOf) {}

    record Choices(
        String[] bundleId, String[] environments, String appAppleId, List<String> roots, List<String> transactionReceiptIssuers,
        boolean storekitTesting, String[] distrusted, Long maximumAge, String validationDate, @SerializedName("allows_rsa_1024") boolean allowsRsa1024,
        boolean strictForm, Long clock, String[] productTypes) {

        Options options() {
            Options options = new Options().environments(Objects.requireNonNullElse(environments, new String[0]));
            if (bundleId != null) options.bundleId(bundleId);
            if (appAppleId != null) options.appAppleId(appAppleId);
            if (roots != null) options.roots(files(roots));
            if (transactionReceiptIssuers != null) options.transactionReceiptIssuers(files(transactionReceiptIssuers));
            if (storekitTesting) options.storekitTesting();
            if (distrusted != null) options.distrusted(distrusted);
            if (maximumAge != null) options.maximumAge(Duration.ofSeconds(maximumAge));
            if (validationDate != null) {
                options.validationDate(
                    validationDate.equals("now") ? Options.NOW : Instant.ofEpochMilli(Long.parseLong(validationDate)));
            }
            if (allowsRsa1024) options.allowsRsa1024();
            if (strictForm) options.strictForm();
            if (clock != null) options.clock(Instant.ofEpochMilli(clock));
            if (productTypes != null) options.productTypes(productTypes);
            return options;
        }
    }

    record Expectation(int status, String code, String category, String json) {}

    static byte[][] files(List<String> names) {
        return names.stream().map(CasesTest::file).toArray(byte[][]::new);
    }

    static String verify(Case test, Verifier verifier, byte[] evidence) throws VerificationError {
        Evidence verified = verifier.verify(evidence);
        String full = verifier.verdictJson(evidence, Form.FULL);
        String brief = verifier.verdictJson(evidence, Form.BRIEF);
        same(full, verified.verdictJson(), test.name);
        same(Json.members(brief).get("kind"), verified.kind(), test.name);
        same(verified.verdict().get(verified.kind()), verified.contents(), test.name);
        return test.json.equals("full") ? full : test.json.equals("brief") ? brief : null;
    }

    @SuppressWarnings("unchecked")
    static List<List<Object>> decisions(String json) {
        return ((List<Map<String, Object>>) Json.members(json).get("items")).stream()
            .map(item -> List.of(
                item.get("product_id"), item.get("access"), item.get("gives_access"), item.get("grantable"),
                String.valueOf(item.get("environment")))).toList();
    }

    static List<List<Object>> decisions(Entitlements found) {
        return found.items().stream()
            .map(item -> List.<Object>of(
                item.productId(), item.access().toString(), item.givesAccess(), item.grantable(),
                String.valueOf(item.environment()))).toList();
    }

    @SuppressWarnings("unchecked")
    static List<List<Object>> renewals(String json) {
        return ((List<Map<String, Object>>) Json.members(json).get("subscriptions")).stream()
            .map(each -> {
                Map<String, Object> offer = (Map<String, Object>) each.get("renewal_offer");
                Object asOf = each.get("as_of");
                return Arrays.asList(
                    each.get("will_renew"), each.get("renews_as_seats"), each.get("price_increase"),
                    offer == null ? null : offer.get("id"), asOf == null ? null : Instant.parse((String) asOf));
            }).toList();
    }

    static List<List<Object>> renewals(Entitlements found) {
        return found.subscriptions().stream()
            .map(each -> Arrays.<Object>asList(
                each.willRenew(), each.renewsAsSeats(),
                each.priceIncrease() == null ? null : each.priceIncrease().toString(),
                each.renewalOffer() == null ? null : each.renewalOffer().id(), each.asOf())).toList();
    }

    static String idJson(String id) {
        return "{\"transaction_id\":" + (id == null ? "null" : '"' + id + '"') + "}";
    }

    static void run(Case test) {
        Expectation expected = test.expect;
        byte[][] evidence = files(test.evidence);
        String json = null;
        VerificationError error = null;
        int status = 0;
        try (Verifier verifier = new Verifier(test.options.options())) {
            switch (test.call) {
                case "new" -> { }
                case "verify" -> json = verify(test, verifier, evidence[0]);
                case "entitlements" -> {
                    Entitlements entitlements = verifier.entitlements(
                        List.of(evidence), Instant.ofEpochMilli(test.date),
                        test.environment == null ? null : Environment.valueOf(test.environment.toUpperCase().replace('-', '_')));
                    json = entitlements.json();
                    error = entitlements.error();
                    same(Instant.ofEpochMilli(test.date), entitlements.at(), test.name);
                    same(decisions(json), decisions(entitlements), test.name);
                    same(renewals(json), renewals(entitlements), test.name);
                }
                case "answer" -> {
                    Answer answer = verifier.answer(evidence[0], test.latestReceiptInfo);
                    json = answer.json();
                    error = answer.error();
                }
                case "extract_transaction_id_from_app_receipt" ->
                    json = idJson(verifier.extractTransactionIdFromAppReceipt(evidence[0]));
                case "extract_transaction_id_from_transaction_receipt" ->
                    json = idJson(verifier.extractTransactionIdFromTransactionReceipt(evidence[0]));
                case "decode" -> {
                    json = Verifier.decodeUnverified(evidence[0]);
                    status = 5;
                }
                default -> throw new AssertionError("unknown call");
            }
        } catch (VerificationError thrown) {
            error = thrown;
            json = "none".equals(test.json) ? null : thrown.verdictJson();
        }
        same(expected.status, error == null ? status : error.status(), test.name);
        same(expected.code, error == null ? "" : error.code(), test.name);
        same(expected.category, error == null ? "" : error.category(), test.name);
        same(test.jsonOf == null ? expected.json : test.jsonOf.getOrDefault("java", expected.json), json, test.name);
    }

    /** A row of settings.json. */
    record BadSetting(String option, Object value, Expectation expect) {}

    static void fails(String name, Options options, int status, String code) {
        try (Verifier verifier = new Verifier(options)) {
            throw new AssertionError(name + " is accepted by " + verifier);
        } catch (VerificationError error) {
            same(code, error.code(), name);
            same(status, error.status(), name);
            same(500, error.httpStatus(), name);
            if (code.equals("usage")) same("the option " + name + " cannot be read", error.message(), name);
        }
    }

    static void isUsage(String name, Options options) {
        fails(name, options, 4, "usage");
    }

    static byte[] bytes(String text) {
        return text == null ? null : text.getBytes(StandardCharsets.UTF_8);
    }

    static void run(BadSetting row) {
        List<?> values = row.value instanceof List<?> list ? list : Arrays.asList(row.value);
        Options options = new Options();
        String name = switch (row.option) {
            case "maximum_age" -> {
                options.maximumAge(row.value == null ? null : Duration.ofSeconds(((Number) row.value).longValue()));
                yield "maximumAge";
            }
            case "validation_date" -> {
                options.validationDate((Instant) row.value);
                yield "validationDate";
            }
            case "clock" -> {
                options.clock((Instant) row.value);
                yield "clock";
            }
            case "app_apple_id" -> {
                options.appAppleId((String) row.value);
                yield "appAppleId";
            }
            case "bundle_id" -> {
                options.bundleId(values.toArray(String[]::new));
                yield "bundleId";
            }
            case "environments" -> {
                options.environments(values.toArray(String[]::new));
                yield "environments";
            }
            case "distrusted" -> {
                options.distrusted(values.toArray(String[]::new));
                yield "distrusted";
            }
            case "product_types" -> {
                options.productTypes(values.toArray(String[]::new));
                yield "productTypes";
            }
            case "roots" -> {
                options.roots(values.stream().map(value -> bytes((String) value)).toArray(byte[][]::new));
                yield "roots";
            }
            case "transaction_receipt_issuers" -> {
                options.transactionReceiptIssuers(values.stream().map(value -> bytes((String) value)).toArray(byte[][]::new));
                yield "transactionReceiptIssuers";
            }
            default -> throw new AssertionError(row.option);
        };
        fails(name, options, row.expect.status, row.expect.code);
    }

    /** The shared table, and what only Java can say. */
    static void badSettings() throws IOException {
        BadSetting[] rows = Json.record(Files.readString(Path.of("../cases/settings.json")), BadSetting[].class);
        for (BadSetting row : rows) run(row);
        isUsage("bundleId", new Options().bundleId((String[]) null));
        isUsage("environments", new Options().environments((String[]) null));
        isUsage("distrusted", new Options().distrusted((String[]) null));
        isUsage("roots", new Options().roots((byte[][]) null));
        isUsage("transactionReceiptIssuers", new Options().transactionReceiptIssuers((byte[][]) null));
        isUsage("maximumAge", new Options().maximumAge(Duration.ofMillis(-1)));
        isUsage("roots", new Options().roots(new byte[] {1}));
        isUsage("bundleId", new Options().bundleId("com.example.app").bundleId((String) null));
    }

    public static void main(String[] arguments) throws Exception {
        Case[] cases = Json.record(Files.readString(Path.of("../cases/cases.json")), Case[].class);
        for (Case test : cases) run(test);

        badSettings();
        same(Access.UNKNOWN, Access.of("later"), "a word of a later version");

        byte[] receipt = file("receipts/1-purchase.der");
        Verifier verifier = new Verifier(cases[0].options.options());
        Evidence evidence = verifier.verify(receipt);
        same("com.example.app", evidence.contents().get("bundle_id"), "contents");
        same(Instant.ofEpochSecond(1749988800), evidence.trust().validatedAt(), "trust");
        Entitlements entitlements = verifier.entitlements(receipt, new byte[0]);
        same("the input is empty (at byte 0 of the text)", entitlements.error().message(), "the error of a refused piece");
        same(List.of(new Refusal(1, "empty-input", "client", "the input is empty (at byte 0 of the text)")), entitlements.refused(), "refused");
        same("com.example.app.coins.0", entitlements.items().get(0).productId(), "the item");
        IntStream.range(0, 200).parallel().forEach(i -> same(true, verifier.accepts(receipt), "accepts"));
        same(false, verifier.accepts(new byte[0]), "accepts");
        same(1000, verifier.entitlements(Collections.nCopies(1000, new byte[0]), Options.NOW).refused().size(), "pieces");
        try {
            throw new AssertionError(verifier.entitlements(Collections.nCopies(1001, new byte[0]), Options.NOW).json());
        } catch (VerificationError error) {
            same("too-much-evidence", error.code(), "pieces");
            same(400, error.httpStatus(), "pieces");
        }
        same(202L, verifier.counts().get("verified"), "counts");

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
        System.out.printf("java: %d cases; %.1f µs per call%n", cases.length, time);
    }
}
