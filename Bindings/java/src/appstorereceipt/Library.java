package appstorereceipt;

import com.sun.jna.Memory;
import com.sun.jna.Native;
import com.sun.jna.Pointer;
import java.nio.charset.StandardCharsets;

/** The functions of appstorereceipt.h. */
final class Library {
    static final int VERIFIED = 0;
    static final int REFUSED = 1;
    static final int CONFIGURATION = 3;
    static final int USAGE = 4;
    static final int DECODED = 5;

    static {
        Native.register(Library.class, "appstorereceipt");
    }

    private Library() {}

    static native Pointer asr_options_new();
    static native void asr_options_free(Pointer options);
    static native int asr_options_set(Pointer options, byte[] name, byte[] value, long length);
    static native int asr_options_set_nothing(Pointer options, byte[] name);
    static native int asr_options_set_binding(Pointer options, byte[] language);
    static native int asr_verifier_new(Pointer options, Pointer verifier, Pointer json, Pointer length, Pointer error);
    static native void asr_verifier_free(Pointer verifier);
    static native int asr_verify(
        Pointer verifier, byte[] evidence, long length, int flags, Pointer json, Pointer jsonLength, Pointer error);
    static native int asr_entitlements(
        Pointer verifier, byte[] evidence, long[] lengths, long count, long date, Pointer json, Pointer jsonLength,
        Pointer error);
    static native int asr_answer(
        Pointer verifier, byte[] body, long length, int flags, Pointer json, Pointer jsonLength, Pointer error);
    static native int asr_counts(Pointer verifier, Pointer json, Pointer jsonLength);
    static native int asr_decode_unverified(
        byte[] evidence, long length, Pointer json, Pointer jsonLength, Pointer error);
    static native void asr_free(Pointer pointer);
    static native String asr_version();

    /** The memory of a thread for the outputs of its calls: allocating it for each would take longer than some calls. */
    static final ThreadLocal<Outputs> OUTPUTS = ThreadLocal.withInitial(Outputs::new);

    static final class Outputs {
        private final Memory memory = new Memory(8 + 8 + 8 + 64);
        final Pointer json = memory.share(0);
        final Pointer length = memory.share(8);
        final Pointer verifier = memory.share(16);
        final Pointer error = memory.share(24);

        /** Copies the outputs of a call, and frees its JSON. */
        Outcome take(int status) {
            return new Outcome(status, takeJson(), error.getString(0, "UTF-8"), error.getString(48, "UTF-8"));
        }

        String takeJson() {
            Pointer pointer = json.getPointer(0);
            if (pointer == null) return null;
            try {
                return new String(pointer.getByteArray(0, Math.toIntExact(length.getLong(0))), StandardCharsets.UTF_8);
            } finally {
                asr_free(pointer);
            }
        }
    }

    record Outcome(int status, String json, String code, String category) {
        /** The reason of the outcome, or null. */
        VerificationError error() {
            return status == VERIFIED || status == DECODED ? null : new VerificationError(status, json, code, category);
        }

        /** The JSON, unless the status is greater, or there is no memory for the JSON. Only making a verifier succeeds without. */
        String json(int greatest) throws VerificationError {
            VerificationError error = status > greatest || json == null ? error() : null;
            if (error != null) throw error;
            return json;
        }
    }
}
