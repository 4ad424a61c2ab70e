package example;

import static io.netty.handler.codec.http.HttpResponseStatus.METHOD_NOT_ALLOWED;

import appstorereceipt.Entitlement;
import appstorereceipt.Entitlements;
import appstorereceipt.VerificationError;
import appstorereceipt.Verifier;
import io.netty.buffer.ByteBufUtil;
import io.netty.buffer.Unpooled;
import io.netty.channel.ChannelFutureListener;
import io.netty.channel.ChannelHandler.Sharable;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.SimpleChannelInboundHandler;
import io.netty.handler.codec.http.DefaultFullHttpResponse;
import io.netty.handler.codec.http.FullHttpRequest;
import io.netty.handler.codec.http.FullHttpResponse;
import io.netty.handler.codec.http.HttpHeaderNames;
import io.netty.handler.codec.http.HttpMethod;
import io.netty.handler.codec.http.HttpResponseStatus;
import io.netty.handler.codec.http.HttpUtil;
import io.netty.handler.codec.http.HttpVersion;
import java.nio.charset.StandardCharsets;
import java.util.stream.Collectors;

/**
 * Verifies the receipt in the body of a POST, and responds with the products that it grants.
 *
 * <p>It runs on the event loop, for most receipts take tens of microseconds. If clients send large ones, add it to the
 * pipeline with an EventExecutorGroup.
 */
@Sharable
public final class ReceiptHandler extends SimpleChannelInboundHandler<FullHttpRequest> {
    private final Verifier verifier;

    public ReceiptHandler(Verifier verifier) {
        this.verifier = verifier;
    }

    @Override
    protected void channelRead0(ChannelHandlerContext context, FullHttpRequest request) {
        if (!request.method().equals(HttpMethod.POST)) {
            respond(context, request, METHOD_NOT_ALLOWED, "");
            return;
        }
        try {
            Entitlements entitlements = verifier.entitlements(ByteBufUtil.getBytes(request.content()));
            if (entitlements.error() != null) throw entitlements.error();
            String products = entitlements.items().stream().filter(Entitlement::grantable).map(Entitlement::productId)
                .collect(Collectors.joining("\n"));
            respond(context, request, HttpResponseStatus.OK, products);
        } catch (VerificationError error) {
            respond(context, request, HttpResponseStatus.valueOf(error.httpStatus()), error.code());
        }
    }

    private static void respond(
        ChannelHandlerContext context, FullHttpRequest request, HttpResponseStatus status, String text) {
        FullHttpResponse response = new DefaultFullHttpResponse(
            HttpVersion.HTTP_1_1, status, Unpooled.copiedBuffer(text, StandardCharsets.UTF_8));
        HttpUtil.setContentLength(response, response.content().readableBytes());
        response.headers().set(HttpHeaderNames.CONTENT_TYPE, "text/plain; charset=utf-8");
        boolean isKept = HttpUtil.isKeepAlive(request);
        HttpUtil.setKeepAlive(response, isKept);
        var written = context.writeAndFlush(response);
        if (!isKept) written.addListener(ChannelFutureListener.CLOSE);
    }
}
