package appstorereceipt;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Reads the JSON that the library writes. The JDK has no parser, and the binding shall not choose one for its users. */
final class Json {
    private final String text;
    private int position;

    private Json(String text) {
        this.text = text;
    }

    /** Returns a Map, List, String, Long, Double or Boolean, or null. */
    static Object parse(String text) {
        Json json = new Json(text);
        Object value = json.value();
        if (json.next() != 0) throw json.malformed();
        return value;
    }

    @SuppressWarnings("unchecked")
    static Map<String, Object> object(Object value) {
        return (Map<String, Object>) value;
    }

    @SuppressWarnings("unchecked")
    static List<Object> array(Object value) {
        return (List<Object>) value;
    }

    private IllegalArgumentException malformed() {
        return new IllegalArgumentException("malformed JSON at " + position);
    }

    /** The next character that is not white space, or NUL at the end. */
    private char next() {
        while (position < text.length() && text.charAt(position) <= ' ') position++;
        return position < text.length() ? text.charAt(position) : 0;
    }

    private boolean skip(char character) {
        boolean isNext = next() == character;
        if (isNext) position++;
        return isNext;
    }

    private void expect(char character) {
        if (!skip(character)) throw malformed();
    }

    private Object value() {
        switch (next()) {
            case '{': {
                Map<String, Object> members = new LinkedHashMap<>();
                position++;
                while (!skip('}')) {
                    if (!members.isEmpty()) expect(',');
                    next();
                    String name = string();
                    expect(':');
                    members.put(name, value());
                }
                return members;
            }
            case '[': {
                List<Object> elements = new ArrayList<>();
                position++;
                while (!skip(']')) {
                    if (!elements.isEmpty()) expect(',');
                    elements.add(value());
                }
                return elements;
            }
            case '"':
                return string();
            default:
                int start = position;
                while (position < text.length() && "+-.0123456789Eaeflnrstu".indexOf(text.charAt(position)) >= 0) position++;
                String word = text.substring(start, position);
                switch (word) {
                    case "true": return true;
                    case "false": return false;
                    case "null": return null;
                    case "": throw malformed();
                    default:
                }
                if (word.matches("-?[0-9]{1,18}")) return Long.valueOf(word);
                return Double.valueOf(word);
        }
    }

    private String string() {
        expect('"');
        StringBuilder string = new StringBuilder();
        while (position < text.length()) {
            char character = text.charAt(position++);
            if (character == '"') return string.toString();
            if (character == '\\' && position < text.length()) {
                character = text.charAt(position++);
                int escape = "bfnrt".indexOf(character);
                if (escape >= 0) {
                    character = "\b\f\n\r\t".charAt(escape);
                } else if (character == 'u' && position + 4 <= text.length()) {
                    character = (char) Integer.parseInt(text.substring(position, position + 4), 16);
                    position += 4;
                }
            }
            string.append(character);
        }
        throw malformed();
    }
}
