package appstorereceipt;

import static appstorereceipt.Library.OUTPUTS;
import static java.nio.charset.StandardCharsets.UTF_8;

import appstorereceipt.Library.Outcome;
import appstorereceipt.Library.Outputs;
import com.sun.jna.Pointer;
import java.io.ByteArrayOutputStream;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Verifies evidence. Make one when the program starts: it takes some milliseconds. All threads may use it at the same time. */
public final class Verifier implements AutoCloseable {
    private static final int FILL_LATEST_RECEIPT_INFO = 16;

    /** Calls hold the read lock, so that no thread closes the verifier under another. */
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private Pointer verifier;

    public Verifier(Options options) throws VerificationError {
        Pointer pointer = Library.asr_options_new();
        try {
            for (String id : options.bundleIds()) {
                check("bundleIds", id, Library.asr_options_add_bundle_id(pointer, text(id)));
            }
            for (String environment : options.environments()) {
                check("environments", environment, Library.asr_options_add_environment(pointer, text(environment)));
            }
            for (String fingerprint : options.distrusted()) {
                check("distrusted", fingerprint, Library.asr_options_add_distrusted(pointer, text(fingerprint)));
            }
            for (byte[] root : options.roots()) {
                check("roots", "", Library.asr_options_add_roots(pointer, root, root.length));
            }
            for (byte[] issuer : options.transactionReceiptIssuers()) {
                check(
                    "transactionReceiptIssuers", "",
                    Library.asr_options_add_transaction_receipt_issuers(pointer, issuer, issuer.length));
            }
            String id = options.appAppleId();
            if (id != null) check("appAppleId", id, Library.asr_options_set_app_apple_id(pointer, text(id)));
            if (options.maximumAge() != null) {
                check("maximumAge", "", Library.asr_options_set_maximum_age(pointer, options.maximumAge().toSeconds()));
            }
            if (options.validationDate() != null) {
                long date = milliseconds(options.validationDate());
                check("validationDate", "", Library.asr_options_set_validation_date(pointer, date));
            }
            if (options.clock() != null) {
                check("clock", "", Library.asr_options_set_clock(pointer, milliseconds(options.clock())));
            }
            Library.asr_options_set_storekit_testing(pointer, options.storekitTesting() ? 1 : 0);
            Library.asr_options_set_allows_rsa_1024(pointer, options.allowsRsa1024() ? 1 : 0);
            Outputs out = OUTPUTS.get();
            out.take(Library.asr_verifier_new(pointer, out.verifier, out.json, out.length, out.error)).orThrow(0);
            verifier = out.verifier.getPointer(0);
        } finally {
            Library.asr_options_free(pointer);
        }
    }

    private static byte[] text(String value) {
        return (value + "\0").getBytes(UTF_8);
    }

    /** A text for C ends at its first NUL. What would follow must not be lost. */
    private static void check(String name, String text, int status) throws VerificationError {
        if (status != Library.VERIFIED || text.indexOf(0) >= 0) {
            throw new VerificationError(4, null, "usage", "host", "the option " + name + " cannot be read");
        }
    }

    private static long milliseconds(Instant date) {
        return date.equals(Instant.MAX) ? Long.MAX_VALUE : date.toEpochMilli();
    }

    private interface Call {
        int perform(Pointer verifier, Outputs out);
    }

    private Outcome call(Call call) {
        Outputs out = OUTPUTS.get();
        lock.readLock().lock();
        try {
            if (verifier == null) throw new IllegalStateException("the verifier is closed");
            return out.take(call.perform(verifier, out));
        } finally {
            lock.readLock().unlock();
        }
    }

    private Outcome outcome(byte[] evidence, Form form) {
        return call((verifier, out) -> Library.asr_verify(
            verifier, evidence, evidence.length, form.ordinal(), out.json, out.length, out.error));
    }

    /** Verifies a receipt, a JWS or a transaction receipt, or a JSON object that contains one, as the client sent it. */
    public Evidence verify(byte[] evidence, Form form) throws VerificationError {
        return new Evidence(outcome(evidence, form).orThrow(Library.VERIFIED).json());
    }

    public Evidence verify(byte[] evidence) throws VerificationError {
        return verify(evidence, Form.FULL);
    }

    public Evidence verify(String evidence) throws VerificationError {
        return verify(evidence.getBytes(UTF_8), Form.FULL);
    }

    /** The verdict on evidence that is verified or refused, as JSON; null with {@link Form#NONE}. */
    public String verdictJson(byte[] evidence, Form form) {
        return outcome(evidence, form).json();
    }

    /** Whether evidence is verified: the fastest call, without JSON. */
    public boolean accepts(byte[] evidence) {
        return outcome(evidence, Form.NONE).status() == Library.VERIFIED;
    }

    /** What one customer's evidence gives access to at a date; {@link Instant#MAX} is the present. */
    public Entitlements entitlements(List<byte[]> evidence, Instant at) throws VerificationError {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        evidence.forEach(joined::writeBytes);
        byte[] bytes = joined.toByteArray();
        long[] lengths = evidence.stream().mapToLong(piece -> piece.length).toArray();
        Outcome outcome = call((verifier, out) -> Library.asr_entitlements(
            verifier, bytes, lengths, lengths.length, milliseconds(at), out.json, out.length, out.error)).orThrow(Library.REFUSED);
        Map<String, Object> json = Json.object(Json.parse(outcome.json()));
        List<Entitlement> items = Json.array(json.get("items")).stream().map(item -> new Entitlement(Json.object(item))).toList();
        return new Entitlements(Instant.parse((String) json.get("at")), items, outcome.json(), outcome.error());
    }

    public Entitlements entitlements(List<byte[]> evidence) throws VerificationError {
        return entitlements(evidence, Instant.MAX);
    }

    /** The answer of verifyReceipt to a request's body, from the receipt alone. */
    public Answer answer(byte[] body, boolean latestReceiptInfo) {
        int flags = latestReceiptInfo ? FILL_LATEST_RECEIPT_INFO : 0;
        Outcome outcome = call((verifier, out) -> Library.asr_answer(
            verifier, body, body.length, flags, out.json, out.length, out.error));
        return new Answer(outcome.json(), outcome.error());
    }

    /** The numbers of inputs verified and refused, for metrics. */
    public Map<String, Object> counts() {
        Outcome outcome = call((verifier, out) -> Library.asr_counts(verifier, out.json, out.length));
        return Json.object(Json.parse(outcome.json()));
    }

    /** The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. */
    public static String decodeUnverified(byte[] evidence) throws VerificationError {
        Outputs out = OUTPUTS.get();
        Outcome outcome = out.take(
            Library.asr_decode_unverified(evidence, evidence.length, out.json, out.length, out.error));
        if (outcome.status() != Library.DECODED) throw outcome.error();
        return outcome.json();
    }

    /** The version of the library. */
    public static String version() {
        return Library.asr_version();
    }

    /** Waits for the calls of other threads, and frees the verifier. */
    @Override
    public void close() {
        lock.writeLock().lock();
        try {
            if (verifier != null) Library.asr_verifier_free(verifier);
            verifier = null;
        } finally {
            lock.writeLock().unlock();
        }
    }
}
