import appstorereceipt.Options;
import appstorereceipt.Verifier;
import example.ReceiptHandler;
import io.netty.bootstrap.ServerBootstrap;
import io.netty.channel.Channel;
import io.netty.channel.ChannelInitializer;
import io.netty.channel.nio.NioEventLoopGroup;
import io.netty.channel.socket.nio.NioServerSocketChannel;
import io.netty.handler.codec.http.HttpObjectAggregator;
import io.netty.handler.codec.http.HttpServerCodec;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Instant;

/** Posts receipts to the example handler. */
public final class NettyTest {
    private NettyTest() {}

    private static final Path VECTORS = Path.of("../../TestVectors");

    public static void main(String[] arguments) throws Exception {
        Options options = new Options().bundleId("com.example.app").roots(Files.readAllBytes(VECTORS.resolve("authority/root.der")))
            .clock(Instant.ofEpochSecond(1750420800));
        NioEventLoopGroup group = new NioEventLoopGroup(2);
        try (Verifier verifier = new Verifier(options)) {
            ReceiptHandler handler = new ReceiptHandler(verifier);
            Channel server = new ServerBootstrap().group(group).channel(NioServerSocketChannel.class)
                .childHandler(new ChannelInitializer<Channel>() {
                    @Override
                    protected void initChannel(Channel channel) {
                        channel.pipeline().addLast(new HttpServerCodec(), new HttpObjectAggregator(4 << 20), handler);
                    }
                })
                .bind(InetAddress.getLoopbackAddress(), 0).sync().channel();
            int port = ((InetSocketAddress) server.localAddress()).getPort();
            URI uri = new URI("http", null, "127.0.0.1", port, "/", null, null);
            HttpClient client = HttpClient.newBuilder().version(HttpClient.Version.HTTP_1_1).build();
            for (String[] test : new String[][] {
                {"requests/json.json", "200 com.example.app.pro\ncom.example.app.coins"},
                {"certificates/stranger.der", "403 untrusted-chain"},
                {"asn1/empty.der", "400 empty-input"},
            }) {
                HttpRequest request = HttpRequest.newBuilder(uri).POST(BodyPublishers.ofFile(VECTORS.resolve(test[0]))).build();
                HttpResponse<String> response = client.send(request, BodyHandlers.ofString());
                String found = response.statusCode() + " " + response.body();
                if (!found.equals(test[1])) throw new AssertionError(test[0] + ": " + found);
            }
            HttpResponse<String> response = client.send(HttpRequest.newBuilder(uri).build(), BodyHandlers.ofString());
            if (response.statusCode() != 405) throw new AssertionError("GET: " + response.statusCode());
            server.close().sync();
        } finally {
            group.shutdownGracefully(0, 1, java.util.concurrent.TimeUnit.SECONDS).sync();
        }
        System.out.println("java: handler on Netty: passed");
    }
}
