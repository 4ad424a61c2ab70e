import com.google.gson.*;
import com.sun.net.httpserver.*;
import java.io.IOException;
import java.net.*;
import java.net.http.*;
import java.nio.file.*;
import java.security.MessageDigest;
import java.sql.*;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.Executors;
import java.util.regex.Pattern;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import static java.nio.charset.StandardCharsets.*;

/**
 * A small backend of a shop: what each account has, by the rule of "Deliver" in ReceiptServer/TUTORIAL.md. Java 17,
 * Gson, and JDBC for SQLite.
 *     LEDGER_URL=http://127.0.0.1:8080 LEDGER_TOKEN=… WEBHOOK_SECRET_FILE=secret DATABASE=shop.db PORT=8090 \
 *         java -cp /usr/share/java/gson.jar:/usr/share/java/sqlite-jdbc.jar Backend.java
 * Start receipt-server with --webhook http://127.0.0.1:8090/webhook and the same secret.
 *     POST /redeem     from the app: the evidence as the body. Answers which transactions the app may finish
 *     POST /webhook    from receipt-server: an event
 *     GET  /balances   for the app: what the account has
 */
class Backend {
    static final Map<String, String> ENVIRONMENT = System.getenv();
    static final int TOLERANCE = 300, MAXIMUM_BODY = 1 << 24; // seconds between the signature's time and ours; bytes
    static final long[] DELAYS = {250, 500, 1000, 2000, 4000, 0}; // milliseconds after each attempt to redeem
    static final Pattern SIGNATURE = Pattern.compile("t=([0-9]{1,12}),v1=([0-9a-f]{64})");
    static final HttpClient CLIENT = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
    static final String SCHEMA = """
        CREATE TABLE IF NOT EXISTS balances (
            account TEXT NOT NULL, environment TEXT NOT NULL, bundle_id TEXT NOT NULL, granted_as TEXT NOT NULL,
            product_id TEXT NOT NULL, quantity INTEGER NOT NULL, until TEXT, sequence INTEGER NOT NULL, purchase_date TEXT, length TEXT,
            PRIMARY KEY (account, environment, bundle_id, granted_as))""";
    // The quantity is set, never added. Older events change nothing.
    static final String SET_BALANCE = """
        INSERT INTO balances VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
        ON CONFLICT (account, environment, bundle_id, granted_as) DO UPDATE
        SET product_id = excluded.product_id, quantity = excluded.quantity, until = excluded.until, sequence = excluded.sequence,
            purchase_date = excluded.purchase_date, length = excluded.length
        WHERE excluded.sequence >= balances.sequence""";
    // What has ended keeps its quantity and counts no more. A sum over the environments would give away the products of
    // the sandbox. Month cards follow each other: one that is bought while another runs begins when that ends, so each
    // ends at its purchase date and the length of all since.
    static final String BALANCES = """
        WITH cards AS (
            SELECT *, CAST(substr(nullif(length, 'unknown'), 2) AS INTEGER) * (quantity > 0) AS days FROM balances WHERE account = ?),
        ends AS (
            SELECT *, julianday(CASE WHEN days > 0 THEN purchase_date END) + sum(days) OVER (PARTITION BY environment, product_id
                ORDER BY julianday(purchase_date) DESC ROWS UNBOUNDED PRECEDING) AS stacked FROM cards)
        SELECT environment, product_id, CASE WHEN max(stacked) IS NULL
                THEN sum(quantity * (until IS NULL OR julianday(until) > julianday('now'))) ELSE max(stacked) > julianday('now') END AS quantity,
            strftime('%Y-%m-%dT%H:%M:%SZ', coalesce(max(stacked), max(CASE WHEN quantity > 0 THEN julianday(until) END))) AS until
        FROM ends GROUP BY 1, 2""";
    // A later version reports others, too.
    static final Set<String> KINDS = Set.of("granted", "revoked", "restored", "adjusted", "changed", "conflict");

    record Answer(int status, Object value) {}

    static Connection database() throws SQLException {
        var file = ENVIRONMENT.getOrDefault("DATABASE", "shop.db");
        var connection = DriverManager.getConnection("jdbc:sqlite:" + file + "?busy_timeout=30000&transaction_mode=IMMEDIATE");
        connection.setAutoCommit(false);
        return connection;
    }

    static Object[] row(String account, JsonObject of, String grantedAs, long quantity, long sequence) {
        return new Object[] {
            account, text(of, "environment"), text(of, "bundle_id"), grantedAs, text(of, "product_id"), quantity, text(of, "until"), sequence,
            text(of, "purchase_date"), text(of, "length")};
    }

    /** Records rows of an answer or of an event, all or none. */
    static void apply(List<Object[]> rows) throws SQLException {
        try (var connection = database(); var statement = connection.prepareStatement(SET_BALANCE)) {
            for (var row : rows) {
                for (int index = 0; index < row.length; index++) statement.setObject(index + 1, row[index]);
                statement.executeUpdate();
            }
            connection.commit();
        }
    }

    /** Sends evidence to the ledger until it answers. */
    static Answer redeem(String account, String evidence) throws InterruptedException {
        // If the app sets an appAccountToken when it buys, send the account's as "account_token", too.
        var body = new Gson().toJson(Map.of("account", account, "evidence", evidence));
        var request = HttpRequest.newBuilder(URI.create(ENVIRONMENT.get("LEDGER_URL") + "/v1/redeem")).timeout(Duration.ofSeconds(15))
            .header("Authorization", "Bearer " + ENVIRONMENT.get("LEDGER_TOKEN")).header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(body)).build();
        for (long delay : DELAYS) {
            try {
                var response = CLIENT.send(request, HttpResponse.BodyHandlers.ofString(UTF_8));
                var answer = JsonParser.parseString(response.body()).getAsJsonObject();
                if (!Set.of(401, 502, 503, 504).contains(response.statusCode())) return new Answer(response.statusCode(), answer);
            } catch (IOException | JsonParseException | IllegalStateException error) {
                // No answer, or half of one. It may be granted: the same request again is answered with what the
                // account has.
            }
            Thread.sleep(delay);
        }
        return new Answer(503, Map.of("error", Map.of("code", "ledger-unavailable")));
    }

    /**
     * Redeems, and records each outcome: what the account has of granted_as, and that it has nothing under another
     * transaction_id.
     */
    static Answer redeemed(String account, String evidence) throws Exception {
        var found = redeem(account, evidence);
        // Nothing is granted, and the app must not finish the transaction.
        if (!(found.value instanceof JsonObject answer) || found.status != 200) return found;
        var rows = new ArrayList<Object[]>();
        var finish = new ArrayList<String>();
        var outcomes = new TreeMap<String, String>();
        long sequence = answer.get("sequence").getAsLong();
        for (var each : answer.getAsJsonArray("outcomes")) {
            var outcome = each.getAsJsonObject();
            String id = text(outcome, "transaction_id"), grantedAs = text(outcome, "granted_as");
            if (!id.equals(grantedAs)) rows.add(row(account, outcome, id, 0, sequence));
            if (grantedAs != null) rows.add(row(account, outcome, grantedAs, outcome.get("quantity").getAsLong(), sequence));
            outcomes.put(id, text(outcome, "outcome"));
            if (outcome.get("may_finish").getAsBoolean()) finish.add(id);
        }
        apply(rows);
        // Only now may the app finish: the outcomes are recorded here.
        return new Answer(200, Map.of("finish", finish, "outcomes", outcomes));
    }

    static String text(JsonObject object, String name) { return object.get(name).isJsonNull() ? null : object.get(name).getAsString(); }

    /** The webhook's secret. A line break at the end of the file is the editor's, and no part of it. */
    static byte[] secret() throws IOException {
        return Files.readString(Path.of(ENVIRONMENT.get("WEBHOOK_SECRET_FILE")), ISO_8859_1).replaceAll("[\r\n]+$", "").getBytes(ISO_8859_1);
    }

    /** Whether the ledger signed the body, at most five minutes ago: Ledger-Signature: t=SECONDS,v1=HEX */
    static boolean isSigned(String header, byte[] body) throws Exception {
        var parts = SIGNATURE.matcher(header == null ? "" : header);
        if (!parts.matches()) return false;
        var mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(secret(), "HmacSHA256"));
        mac.update((parts.group(1) + ".").getBytes(UTF_8));
        return MessageDigest.isEqual(mac.doFinal(body), HexFormat.of().parseHex(parts.group(2)))
            && Math.abs(System.currentTimeMillis() / 1000 - Long.parseLong(parts.group(1))) <= TOLERANCE;
    }

    static Answer balances(String account) throws SQLException {
        var balances = new ArrayList<Map<String, Object>>();
        try (var connection = database(); var statement = connection.prepareStatement(BALANCES)) {
            statement.setString(1, account);
            var rows = statement.executeQuery();
            while (rows.next()) {
                var balance = new TreeMap<String, Object>(Map.of("environment", rows.getString(1), "product_id", rows.getString(2), "quantity", rows.getLong(3)));
                balance.put("until", rows.getString(4));
                balances.add(balance);
            }
        }
        return new Answer(200, balances);
    }

    static Answer answer(HttpExchange exchange) throws Exception {
        // The signed-in user. Take it from your session: the app's word is not enough. This example has no sessions.
        var account = exchange.getRequestHeaders().getFirst("X-Example-Account");
        var body = exchange.getRequestBody().readNBytes(MAXIMUM_BODY + 1);
        if (body.length > MAXIMUM_BODY) return new Answer(413, Map.of());
        switch (exchange.getRequestMethod() + " " + exchange.getRequestURI()) {
            case "POST /redeem": return account == null || account.isEmpty() ? new Answer(401, Map.of()) : redeemed(account, new String(body, UTF_8));
            case "POST /webhook":
                if (!isSigned(exchange.getRequestHeaders().getFirst("Ledger-Signature"), body)) return new Answer(403, Map.of());
                var event = JsonParser.parseString(new String(body, UTF_8)).getAsJsonObject();
                if (!KINDS.contains(text(event, "kind"))) return new Answer(200, Map.of());
                // An event's transaction_id is that of the grant. After an exception, the ledger sends the event again.
                apply(List.<Object[]>of(row(text(event, "account"), event, text(event, "transaction_id"), event.get("quantity").getAsLong(), event.get("sequence").getAsLong())));
                return new Answer(200, Map.of());
            case "GET /balances": return balances(account);
            default: return new Answer(404, Map.of());
        }
    }

    public static void main(String[] arguments) throws Exception {
        for (var name : List.of("LEDGER_URL", "LEDGER_TOKEN", "WEBHOOK_SECRET_FILE")) {
            if (!ENVIRONMENT.getOrDefault(name, "").matches("[^\r\n]+")) throw new IllegalArgumentException(name + " must be one line");
        }
        if (secret().length == 0) throw new IllegalArgumentException("The webhook's secret is empty");
        try (var connection = database(); var statement = connection.createStatement()) {
            statement.execute(SCHEMA);
            connection.commit();
        }
        var server = HttpServer.create(new InetSocketAddress("127.0.0.1", Integer.parseInt(ENVIRONMENT.getOrDefault("PORT", "8081"))), 0);
        server.createContext("/", exchange -> {
            var answer = new Answer(500, Map.of());
            try { answer = answer(exchange); } catch (Exception error) { error.printStackTrace(); }
            var text = new GsonBuilder().serializeNulls().create().toJson(answer.value).getBytes(UTF_8);
            exchange.getResponseHeaders().set("Content-Type", "application/json");
            exchange.sendResponseHeaders(answer.status, text.length);
            exchange.getResponseBody().write(text);
            exchange.close();
        });
        server.setExecutor(Executors.newFixedThreadPool(16));
        server.start();
    }
}
