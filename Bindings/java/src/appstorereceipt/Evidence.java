package appstorereceipt;

import java.util.Iterator;
import java.util.Map;

/**
 * Evidence that was verified. The JSON can be large, and is decoded when a method is called.
 *
 * @param verdictJson the verdict, to store
 */
public record Evidence(String verdictJson) {
    /** The whole verdict: maps, lists, strings, numbers and booleans. A notification's signed parts are members, too. */
    public Map<String, Object> verdict() {
        return Json.members(verdictJson);
    }

    /** The name of the member that has the contents: {@code receipt}, {@code transaction}, {@code notification}, … */
    public String kind() {
        return kind(verdict());
    }

    private static String kind(Map<String, Object> verdict) {
        Iterator<String> names = verdict.keySet().iterator();
        while (!names.next().equals("trust")) continue;
        return names.next();
    }

    /** The member that {@link #kind} names. */
    @SuppressWarnings("unchecked")
    public Map<String, Object> contents() {
        Map<String, Object> verdict = verdict();
        return (Map<String, Object>) verdict.get(kind(verdict));
    }

    public Trust trust() {
        return Json.record(verdictJson, Json.Trusted.class).trust();
    }
}
