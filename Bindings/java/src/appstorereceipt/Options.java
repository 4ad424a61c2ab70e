package appstorereceipt;

import static java.nio.charset.StandardCharsets.UTF_8;

import com.sun.jna.Pointer;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/**
 * What a verifier accepts, and which certificates it trusts. All methods return these options.
 *
 * <p>Do not call the method of what is not set: null, no value and an empty text are errors, which {@link Verifier#Verifier} throws, and
 * never mean every app or any age.
 */
public final class Options {
    /** The present, where a date is expected. */
    public static final Instant NOW = Instant.MAX;

    private interface Setter { int set(Pointer options); }

    private interface TextSetter { int set(Pointer options, byte[] text); }

    private interface FileSetter { int set(Pointer options, byte[] certificates, long length); }

    private record Setting(String name, Setter setter) {}

    private final List<Setting> settings = new ArrayList<>();
    private boolean hasEnvironments;

    /** The apps to accept. Without any, compare the bundle id in the contents before you grant anything. */
    public Options bundleId(String... ids) {
        // The library has an error for an empty id.
        String[] all = ids != null && ids.length == 0 ? new String[] {""} : ids;
        return texts("bundleId", Library::asr_options_add_bundle_id, all);
    }

    /** {@code production}, which is the default, {@code sandbox}, {@code xcode}, {@code local-testing}. */
    public Options environments(String... names) {
        hasEnvironments = true;
        // The library has an error for no environment.
        return names != null && names.length == 0 ? this : texts("environments", Library::asr_options_add_environment, names);
    }

    /** The app's Apple id, a number. Notifications and real-time requests have it. */
    public Options appAppleId(String id) {
        return texts("appAppleId", Library::asr_options_set_app_apple_id, id);
    }

    /** Self-signed certificates in DER or PEM, trusted instead of Apple's. */
    public Options roots(byte[]... files) {
        return files("roots", Library::asr_options_add_roots, files);
    }

    /** Intermediate certificates for transaction receipts of iOS 3 to 6. */
    public Options transactionReceiptIssuers(byte[]... files) {
        return files("transactionReceiptIssuers", Library::asr_options_add_transaction_receipt_issuers, files);
    }

    /** The roots are certificates of StoreKit Testing in Xcode. */
    public Options storekitTesting() {
        return set("storekitTesting", options -> Library.asr_options_set_storekit_testing(options, 1));
    }

    /** SHA-256 of certificates in hexadecimal. What they have signed is refused. */
    public Options distrusted(String... fingerprints) {
        return texts("distrusted", Library::asr_options_add_distrusted, fingerprints);
    }

    /** Refuses older evidence. */
    public Options maximumAge(Duration age) {
        return value("maximumAge", age, options -> Library.asr_options_set_maximum_age(options, age.toSeconds()));
    }

    /** The date to validate certificates at, or {@link #NOW}. The default is the evidence's own. */
    public Options validationDate(Instant date) {
        return value("validationDate", date, options -> Library.asr_options_set_validation_date(options, milliseconds(date)));
    }

    /** Accepts transaction receipts of version 2, which have an RSA key of 1024 bits. */
    public Options allowsRsa1024() {
        return set("allowsRsa1024", options -> Library.asr_options_set_allows_rsa_1024(options, 1));
    }

    /** Where the verifier's clock stands still, for tests. */
    public Options clock(Instant date) {
        return value("clock", date, options -> Library.asr_options_set_clock(options, milliseconds(date)));
    }

    static long milliseconds(Instant date) {
        return date.equals(NOW) ? Long.MAX_VALUE : date.toEpochMilli();
    }

    /** Sets what was chosen in the options of the library. */
    void apply(Pointer options) throws VerificationError {
        for (Setting setting : settings) {
            if (setting.setter.set(options) != Library.VERIFIED) {
                throw VerificationError.usage("the option " + setting.name + " cannot be read");
            }
        }
        if (!hasEnvironments) Library.asr_options_add_environment(options, "production\0".getBytes(UTF_8));
    }

    private Options set(String name, Setter setter) {
        settings.add(new Setting(name, setter));
        return this;
    }

    /** Null is a setting that was left empty. */
    private Options value(String name, Object value, Setter setter) {
        return set(name, value == null ? options -> Library.USAGE : setter);
    }

    private <T> Options values(String name, T[] values, Function<T, Setter> setter) {
        if (values == null || values.length == 0) return value(name, null, null);
        for (T value : values) value(name, value, value == null ? null : setter.apply(value));
        return this;
    }

    private Options texts(String name, TextSetter setter, String... texts) {
        // A text for C ends at its first NUL. What would follow must not be lost.
        return values(name, texts, text -> options ->
            text.indexOf(0) >= 0 ? Library.USAGE : setter.set(options, (text + "\0").getBytes(UTF_8)));
    }

    private Options files(String name, FileSetter setter, byte[]... files) {
        return values(name, files, file -> options -> setter.set(options, file, file.length));
    }
}
