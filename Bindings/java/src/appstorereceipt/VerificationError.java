package appstorereceipt;

import java.util.List;
import java.util.Map;

/** The reason that evidence was refused, or that a verifier could not be made. */
public final class VerificationError extends Exception {
    private static final long serialVersionUID = 1;

    private final int status;
    private final String verdictJson;
    private final String code;
    private final String category;
    private final String advice;

    VerificationError(int status, String json, String code, String category, String message) {
        super(message != null ? message : member(json, "message", code));
        this.status = status;
        this.verdictJson = json;
        this.code = code;
        this.category = category;
        this.advice = member(json, "advice", "");
    }

    private static String member(String json, String name, String missing) {
        if (json == null) return missing;
        Map<String, Object> verdict = Json.object(Json.parse(json));
        List<Object> refused = Json.array(verdict.get("refused")); // of entitlements
        if (refused != null && !refused.isEmpty()) verdict = Json.object(refused.get(0));
        Map<String, Object> error = Json.object(verdict.get("error"));
        return error != null && error.get(name) instanceof String text ? text : missing;
    }

    /** 1: refused, 2: this host is at fault, 3: the options are at fault, 4: the call is wrong. */
    public int status() {
        return status;
    }

    /** A stable word such as {@code bundle-id-mismatch}. */
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

    public String advice() {
        return advice;
    }

    /** The refusal as JSON, or null. */
    public String verdictJson() {
        return verdictJson;
    }
}
