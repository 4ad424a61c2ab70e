import appstorereceipt.Form;
import appstorereceipt.Options;
import appstorereceipt.VerificationError;
import appstorereceipt.Verifier;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Without memory for a JSON there is an error, and never null. malloc.c refuses the sizes of these JSONs. */
public final class NoMemoryTest {
    private NoMemoryTest() {}

    private static final Path VECTORS = Path.of("../../TestVectors");

    private interface Call {
        Object perform() throws VerificationError;
    }

    private static void hasNoMemory(String name, Call call) {
        try {
            throw new AssertionError(name + " returned " + call.perform());
        } catch (VerificationError error) {
            if (!error.code().equals("out-of-memory") || error.status() != 2 || error.httpStatus() != 500) throw new AssertionError(name, error);
        }
    }

    public static void main(String[] arguments) throws Exception {
        byte[] receipt = Files.readAllBytes(VECTORS.resolve("receipts/1-purchase.der"));
        byte[] body = Files.readAllBytes(VECTORS.resolve("requests/json.json"));
        byte[] root = Files.readAllBytes(VECTORS.resolve("authority/root.der"));
        Options options = new Options().bundleId("com.example.app").roots(root).clock(Instant.ofEpochMilli(1750420800000L));
        try (Verifier verifier = new Verifier(options)) {
            if (!verifier.accepts(receipt)) throw new AssertionError("not accepted");
            hasNoMemory("verdictJson", () -> verifier.verdictJson(receipt, Form.FULL));
            hasNoMemory("verify", () -> verifier.verify(receipt));
            hasNoMemory("answer", () -> verifier.answer(body, false));
            verifier.verdictJson(receipt, Form.BRIEF);
        }
    }
}
