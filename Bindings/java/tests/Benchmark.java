import appstorereceipt.Form;
import appstorereceipt.Options;
import appstorereceipt.VerificationError;
import appstorereceipt.Verifier;
import java.nio.file.Files;
import java.nio.file.Path;

/** What a call costs, in microseconds: the least of several rounds, after the compiler has seen it. */
public final class Benchmark {
    private Benchmark() {}

    private interface Call {
        Object perform() throws VerificationError;
    }

    private static void measure(String name, Call call) throws VerificationError {
        double least = Double.MAX_VALUE;
        for (int round = 0; round < 40; round++) {
            long began = System.nanoTime();
            for (int i = 0; i < 500; i++) call.perform();
            least = Math.min(least, (System.nanoTime() - began) / 500.0 / 1000);
        }
        System.out.printf("%-24s %6.1f µs%n", name, least);
    }

    public static void main(String[] files) throws Exception {
        byte[] evidence = Files.readAllBytes(Path.of(files[0]));
        Options options = new Options().environments("production", "sandbox").roots(Files.readAllBytes(Path.of(files[1])));
        try (Verifier verifier = new Verifier(options)) {
            verifier.verify(evidence);
            measure("Java, no JSON", () -> verifier.accepts(evidence));
            measure("Java, JSON as text", () -> verifier.verdictJson(evidence, Form.FULL));
            measure("Java, Evidence", () -> verifier.verify(evidence).contents());
        }
    }
}
