package appstorereceipt;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import com.google.gson.JsonDeserializer;
import com.google.gson.ToNumberPolicy;
import com.google.gson.reflect.TypeToken;
import java.time.Instant;
import java.util.List;
import java.util.Map;

/** The JSON of the library: members are named in snake_case, dates are RFC 3339, and whole numbers stay whole. */
final class Json {
    private static final Gson GSON = new GsonBuilder()
        .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
        .setObjectToNumberStrategy(ToNumberPolicy.LONG_OR_DOUBLE)
        .registerTypeAdapter(Instant.class, (JsonDeserializer<Instant>) (date, type, context) -> Instant.parse(date.getAsString()))
        .create();

    private Json() {}

    /** Maps, lists, strings, Long, Double and Boolean, in the order of the JSON. */
    static Map<String, Object> members(String text) {
        return GSON.fromJson(text, new TypeToken<Map<String, Object>>() {}.getType());
    }

    static <T> T record(String text, Class<T> type) {
        return GSON.fromJson(text, type);
    }

    record Details(String code, String category, String message, String advice) {}

    record Piece(int index, Details error) {}

    record Refused(Details error, List<Piece> refused) {}

    record Trusted(Trust trust) {}

    record Decided(Instant at, List<Entitlement> items, List<Piece> refused) {}
}
