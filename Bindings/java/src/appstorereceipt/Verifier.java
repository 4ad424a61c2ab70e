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
    /** Calls hold the read lock, so that no thread closes the verifier under another. */
    private final ReadWriteLock lock = new ReentrantReadWriteLock();
    private Pointer verifier;

    public Verifier(Options options) throws VerificationError {
        Pointer pointer = Library.asr_options_new();
        try {
            Library.asr_options_set_binding(pointer, new byte[] {'j', 'a', 'v', 'a', 0});
            options.apply(pointer);
            Outputs out = OUTPUTS.get();
            out.take(Library.asr_verifier_new(pointer, out.verifier, out.json, out.length, out.error)).json(Library.VERIFIED);
            verifier = out.verifier.getPointer(0);
        } finally {
            Library.asr_options_free(pointer);
        }
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

    private Outcome outcome(byte[] evidence, int flags) {
        return call((verifier, out) -> Library.asr_verify(
            verifier, evidence, evidence.length, flags, out.json, out.length, out.error));
    }

    /** Verifies a receipt, a JWS or a transaction receipt, or a JSON object that contains one, as the client sent it. */
    public Evidence verify(byte[] evidence) throws VerificationError {
        return new Evidence(outcome(evidence, Form.FULL.ordinal()).json(Library.VERIFIED));
    }

    public Evidence verify(String evidence) throws VerificationError {
        return verify(evidence.getBytes(UTF_8));
    }

    /**
     * The verdict on evidence that is verified or refused, as JSON.
     *
     * @throws VerificationError if there is no memory for it
     */
    public String verdictJson(byte[] evidence, Form form) throws VerificationError {
        return outcome(evidence, form.ordinal()).json(Library.CONFIGURATION);
    }

    /** Whether evidence is verified: the fastest call, without JSON. */
    public boolean accepts(byte[] evidence) {
        return outcome(evidence, Library.NONE).status() == Library.VERIFIED;
    }

    /** What one customer's evidence, at most 1,000 pieces, gives access to at a date, or {@link Options#NOW}. */
    public Entitlements entitlements(List<byte[]> evidence, Instant at) throws VerificationError {
        ByteArrayOutputStream joined = new ByteArrayOutputStream();
        evidence.forEach(joined::writeBytes);
        byte[] bytes = joined.toByteArray();
        long[] lengths = evidence.stream().mapToLong(piece -> piece.length).toArray();
        Outcome outcome = call((verifier, out) -> Library.asr_entitlements(
            verifier, bytes, lengths, lengths.length, Options.milliseconds(at), out.json, out.length, out.error));
        return Entitlements.of(outcome.json(Library.REFUSED), outcome.error());
    }

    public Entitlements entitlements(byte[]... evidence) throws VerificationError {
        return entitlements(List.of(evidence), Options.NOW);
    }

    /**
     * The answer of verifyReceipt to a request's body, from the receipt alone.
     *
     * @throws VerificationError if there is no memory for it
     */
    public Answer answer(byte[] body, boolean latestReceiptInfo) throws VerificationError {
        int flags = latestReceiptInfo ? Library.LATEST_RECEIPT_INFO : Library.FULL;
        Outcome outcome = call((verifier, out) -> Library.asr_answer(
            verifier, body, body.length, flags, out.json, out.length, out.error));
        return new Answer(outcome.json(Library.CONFIGURATION), outcome.error());
    }

    /**
     * The numbers of inputs verified and refused, for metrics.
     *
     * @throws VerificationError if there is no memory for them
     */
    public Map<String, Object> counts() throws VerificationError {
        Outcome outcome = call((verifier, out) -> Library.asr_counts(verifier, out.json, out.length));
        if (outcome.json() == null) throw new VerificationError(outcome.status(), null, "out-of-memory", "host");
        return Json.members(outcome.json());
    }

    /** The contents of evidence as JSON, WITHOUT VERIFYING IT: anyone can have written them. */
    public static String decodeUnverified(byte[] evidence) throws VerificationError {
        Outputs out = OUTPUTS.get();
        return out.take(Library.asr_decode_unverified(evidence, evidence.length, out.json, out.length, out.error))
            .json(Library.VERIFIED);
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
