package appstorereceipt;

import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** The reason that evidence was refused, or that a verifier could not be made. */
public final class VerificationError extends Exception {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String verdictJson;
    private final String code;
    private final String category;
    private final String advice;

    VerificationError(int status, String json, String code, String category) {
        this(status, json, category, details(json, code));
    }

    private VerificationError(int status, String json, String category, Json.Details details) {
        super(details.message());
        this.status = status;
        this.verdictJson = json;
        this.code = details.code();
        this.category = category;
        this.advice = Objects.requireNonNullElse(details.advice(), "");
    }

    static VerificationError usage(String message) {
        return new VerificationError(Library.USAGE, null, "host", new Json.Details("usage", "host", message, ""));
    }

    /** The error with this code. Of entitlements, it is that of one of the pieces. */
    private static Json.Details details(String json, String code) {
        List<Json.Details> errors = new ArrayList<>();
        if (json != null) {
            Json.Refused verdict = Json.record(json, Json.Refused.class);
            if (verdict.error() != null) errors.add(verdict.error());
            if (verdict.refused() != null) verdict.refused().forEach(piece -> errors.add(piece.error()));
        }
        return errors.stream().filter(error -> error.code().equals(code)).findFirst()
            .orElseGet(() -> new Json.Details(code, null, code, null));
    }

    /** 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong. */
    public int status() {
        return status;
    }

    /** A stable word such as {@code bundle-id-mismatch}; {@code usage} if an option cannot be read. */
    public String code() {
        return code;
    }

    /** Who can correct the error: {@code client}, {@code forgery} or {@code host}. */
    public String category() {
        return category;
    }

    /** The status to respond with: 400, 403 or 500. */
    public int httpStatus() {
        return category.equals("client") ? 400 : category.equals("forgery") ? 403 : 500;
    }

    public String message() {
        return getMessage();
    }

    public String advice() {
        return advice;
    }

    /** The refusal as JSON, or null. */
    public String verdictJson() {
        return verdictJson;
    }
}
