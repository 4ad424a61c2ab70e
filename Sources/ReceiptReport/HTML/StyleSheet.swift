import SignatureTrust
import StrictText

/// An inline style sheet, and the source by which a policy allows it.
@_spi(Surfaces) public struct StyleSheet: Sendable {
    let text: StaticString
    /// `'sha256-…'`, which a policy's `style-src` names.
    public let source: String

    /// The report's.
    public static let page = StyleSheet(sheet)

    public init(_ text: StaticString) {
        self.text = text
        // A host without SHA-256 has made no verifier. The page is then shown without styles.
        let digest = try? Fingerprint(of: Array("\(text)".utf8).span)
        source = digest.map { "'sha256-\(Base64.encode($0.bytes.span))'" } ?? "'none'"
    }

    /// The content security policy of a page with this sheet alone: no script, no request, no form.
    var policy: String { "default-src 'none'; style-src \(source); base-uri 'none'; form-action 'none'" }
}

private let sheet: StaticString = """
    :root{--bg:#f5f6f8;--panel:#fff;--ink:#16191d;--soft:#535b66;--line:#dde1e6;--good:#0b6b3a;--goodbg:#e4f5ea;--warn:#7a4d00;--warnbg:#fdf0d5;--bad:#a3161d;--badbg:#fdeaea;--info:#1b4f9c;--infobg:#e8f0fc;--grey:#58606c;--greybg:#eceff3;--paid:#2e77d0;--offer:#8a5cd6;--grace:#e0a100;--refund:#c8323b;color-scheme:light}
    @media screen and (prefers-color-scheme:dark){:root{--bg:#101317;--panel:#1a1e24;--ink:#e9ecf0;--soft:#a9b1bc;--line:#333a44;--good:#6fdc9c;--goodbg:#12321f;--warn:#f3c46b;--warnbg:#3a2b0c;--bad:#ff9a9a;--badbg:#401a1c;--info:#9cc3ff;--infobg:#17294a;--grey:#a9b1bc;--greybg:#2a3038;--paid:#4f94ea;--offer:#a583ea;--grace:#e5b23c;--refund:#f0747b;color-scheme:dark}}
    *{box-sizing:border-box}
    html{-webkit-text-size-adjust:100%}
    body{margin:0;background:var(--bg);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue","Noto Sans","PingFang SC","Noto Sans CJK SC","Microsoft YaHei",Arial,sans-serif;overflow-wrap:anywhere}
    h1,h2,h3,h4,p,ul,ol,dl,dd,figure{margin:0;padding:0}
    h1{font-size:clamp(1.35rem,1rem + 1.6vw,1.9rem);line-height:1.25;letter-spacing:-.01em}
    h2{font-size:1.25rem;line-height:1.3;margin-bottom:.75rem}
    h3{font-size:1.02rem;margin:1.4rem 0 .6rem}
    h4{font-size:.95rem}
    a{color:var(--info)}
    code,.hex{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.86em}
    small,.note,.zone,.quiet{color:var(--soft);font-size:.875rem}
    time,.zone{font-variant-numeric:tabular-nums}
    bdi{unicode-bidi:isolate}
    ul,ol{list-style:none}
    :focus-visible{outline:3px solid var(--info);outline-offset:2px;border-radius:4px}
    .skip{position:absolute;left:-999px;top:0;background:var(--panel);padding:.5rem 1rem;z-index:1}
    .skip:focus{left:.5rem;top:.5rem}
    .cp{display:inline-block;border:1px solid var(--warn);color:var(--warn);background:var(--warnbg);border-radius:3px;padding:0 .25em;font:600 .7em/1.35 ui-monospace,Menlo,"DejaVu Sans Mono",monospace;unicode-bidi:isolate;direction:ltr;vertical-align:.1em}
    .top,main,footer,nav{max-width:68rem;margin:0 auto;padding:0 1.25rem}
    .top{padding-top:2rem;padding-bottom:1.25rem}
    .kicker{color:var(--soft);font-size:.875rem;margin-bottom:.35rem}
    .top .note{margin-top:.4rem}
    .top h1,.top h2{display:flex;gap:.6rem;align-items:flex-start}
    .mark{flex:none;width:1.5em;height:1.5em;border-radius:50%;display:inline-grid;place-items:center;margin-top:-.08em}
    .mark svg{width:60%;height:60%;fill:none;stroke:currentColor;stroke-width:3;stroke-linecap:round;stroke-linejoin:round}
    .good>.mark,.mark.good{background:var(--goodbg);color:var(--good)}
    .warn>.mark,.mark.warn{background:var(--warnbg);color:var(--warn)}
    .bad>.mark,.mark.bad{background:var(--badbg);color:var(--bad)}
    .unknown>.mark,.mark.unknown{background:var(--greybg);color:var(--grey)}
    .cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,26rem),1fr));gap:.8rem}
    .card,.panel{background:var(--panel);border:1px solid var(--line);border-radius:12px;padding:1rem 1.15rem;min-width:0}
    .card{border-top:4px solid var(--line)}
    .card.good{border-top-color:var(--good)}.card.warn{border-top-color:var(--warn)}.card.bad{border-top-color:var(--bad)}
    .card h2{font-size:.875rem;font-weight:600;color:var(--soft);margin-bottom:.3rem}
    .answer{font-size:1.05rem;font-weight:600}
    .answer code{font-size:.95em;font-weight:600}
    .list li{padding:.15rem 0}
    .list li+li{border-top:1px solid var(--line)}
    .card .note{margin-top:.4rem}
    nav ul{display:flex;flex-wrap:wrap;gap:.2rem 1.1rem;padding:.9rem 0;font-size:.94rem}
    .panel{margin-top:1.1rem}
    .badge{display:inline-block;border-radius:999px;padding:.05rem .6rem;font-size:.82rem;font-weight:600;white-space:nowrap;background:var(--greybg);color:var(--grey)}
    .badge.good{background:var(--goodbg);color:var(--good)}.badge.warn{background:var(--warnbg);color:var(--warn)}.badge.bad{background:var(--badbg);color:var(--bad)}
    .piece>h2{display:flex;flex-wrap:wrap;gap:.3rem .7rem;align-items:center}
    .checks{display:grid;grid-template-columns:repeat(auto-fit,minmax(7.6rem,1fr));gap:.5rem}
    .check{border:1px solid var(--line);border-radius:9px;padding:.5rem .6rem;font-size:.86rem;line-height:1.35}
    .check strong,.check span,.check small{display:block}
    .check .mark{display:inline-grid}
    .check small{margin-top:.15rem;line-height:1.3}
    .check .mark{float:right;margin:0}
    .check.passed .mark{background:var(--goodbg);color:var(--good)}
    .check.failed{border-color:var(--bad);background:var(--badbg)}
    .check.failed .mark{background:var(--bad);color:var(--panel)}
    .check.waiting{border-style:dashed}
    .check.waiting .mark{background:var(--greybg);color:var(--grey)}
    .fault{border-left:4px solid var(--bad);background:var(--badbg);border-radius:0 9px 9px 0;padding:.75rem 1rem;margin-top:.8rem}
    .facts{display:grid;grid-template-columns:minmax(6rem,max-content) minmax(0,1fr);gap:.25rem 1rem}
    .facts dt{color:var(--soft);font-size:.9rem}
    .claim{border:1px dashed var(--warn);background:var(--warnbg);color:var(--warn);border-radius:9px;padding:.45rem .8rem;margin-bottom:.7rem;font-size:.93rem}
    .chain{display:grid;gap:1.5rem}
    .link{position:relative;display:grid;grid-template-columns:2.4rem minmax(0,1fr);gap:.8rem;border:1px solid var(--line);border-radius:10px;padding:.75rem .9rem;background:var(--bg)}
    .link+.link::before{content:"";position:absolute;left:2rem;top:-1.5rem;height:1.5rem;border-left:3px solid var(--good)}
    .link.unknown{border-style:dashed}
    .link.unknown+.link.unknown::before{border-left:3px dashed var(--grey)}
    .seal{width:2.4rem;height:2.4rem;color:var(--good)}
    .link.unknown .seal{color:var(--grey)}
    .seal svg{width:100%;height:100%;fill:none;stroke:currentColor;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}
    .link p{font-size:.9rem}
    .picture{display:block;width:100%;overflow:visible}
    .picture text{font-size:11px;fill:var(--soft);font-variant-numeric:tabular-nums}
    .picture svg{overflow:visible}
    .axis{stroke:var(--line);stroke-width:1}
    .tick{stroke:var(--line);stroke-width:1}
    .now{stroke:var(--ink);stroke-width:2}
    rect.paid,.key.paid{fill:var(--paid);background:var(--paid)}
    rect.offer,.key.offer{fill:var(--offer);background:var(--offer)}
    rect.grace,.key.grace{fill:var(--grace);background:var(--grace)}
    rect.refunded,.key.refunded{fill:var(--badbg);stroke:var(--refund);stroke-width:1.5;stroke-dasharray:4 3;background:var(--badbg);outline:1.5px dashed var(--refund)}
    rect.replaced,.key.replaced{fill:var(--greybg);stroke:var(--grey);stroke-width:1.5;stroke-dasharray:2 3;background:var(--greybg);outline:1.5px dotted var(--grey)}
    rect.future,.key.future{fill:var(--infobg);stroke:var(--paid);stroke-width:1.5;background:var(--infobg);outline:1.5px solid var(--paid)}
    line.gap{stroke:var(--grey);stroke-width:2;stroke-dasharray:2 4}
    .key.gap{border-top:2px dotted var(--grey);height:0}
    .key.now{background:var(--ink);width:2px;height:14px}
    path.once{fill:var(--paid)}
    path.change{fill:var(--ink)}
    .key.change{background:var(--ink);width:10px;height:8px;clip-path:polygon(50% 0,100% 100%,0 100%);border-radius:0}
    .key.crossed{background:var(--refund);width:12px;height:12px;clip-path:polygon(15% 0,50% 35%,85% 0,100% 15%,65% 50%,100% 85%,85% 100%,50% 65%,15% 100%,0 85%,35% 50%,0 15%);border-radius:0}
    .key.once{background:var(--paid);width:10px;transform:rotate(45deg)}
    path.crossed{fill:none;stroke:var(--refund);stroke-width:3;stroke-linecap:round}
    .legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;color:var(--soft);margin:.4rem 0 .2rem}
    .legend li{display:flex;gap:.45rem;align-items:center}
    .key{display:inline-block;width:18px;height:10px;border-radius:2px;flex:none}
    .lane{border-top:1px solid var(--line);padding:.7rem 0 .5rem}
    .lane h3{margin:0}
    .lane-name{display:flex;flex-wrap:wrap;gap:.2rem .6rem;align-items:baseline;margin-bottom:.3rem}
    .events{font-size:.9rem;margin-top:.3rem}
    .events li{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1.25fr);gap:0 1rem;padding:.18rem 0}
    table{width:100%;border-collapse:collapse;font-size:.93rem}
    th{text-align:start;font-size:.82rem;color:var(--soft);font-weight:600;padding:.3rem .6rem .45rem 0;border-bottom:1px solid var(--line)}
    td{vertical-align:top;padding:.6rem .8rem .6rem 0;border-bottom:1px solid var(--line);min-width:0}
    .rows th:nth-child(1){width:27%}.rows th:nth-child(2){width:13.5%}.rows th:nth-child(3){width:25%}.rows th:nth-child(4){width:18%}.rows th:nth-child(5){width:16.5%}
    .rows td:last-child{padding-inline-end:0}
    .rows td:nth-child(4) .zone{display:block}
    .rows .badge{white-space:normal;overflow-wrap:normal}
    .rows{table-layout:fixed}
    td small{display:block}
    details{margin-top:.5rem}
    summary{cursor:pointer;padding:.25rem 0;color:var(--info)}
    .piece>details>summary{font-weight:600}
    .cut{margin:0}
    .cut>summary{color:inherit;padding:0;min-height:24px}
    .cut>summary>small{color:var(--info)}
    .tree{font-size:.86rem;margin-top:.5rem;border-top:1px solid var(--line)}
    .leaf{display:grid;grid-template-columns:minmax(0,1fr) minmax(0,1fr);gap:.1rem 1rem;padding:.16rem 0;border-bottom:1px solid var(--line)}
    .what b{font-weight:600}.what i{font-style:normal;color:var(--info)}
    .hex{color:var(--soft);font-size:.8rem;line-height:1.6}
    .d1{padding-inline-start:.7rem}.d2{padding-inline-start:1.4rem}.d3{padding-inline-start:2.1rem}.d4{padding-inline-start:2.8rem}.d5{padding-inline-start:3.5rem}.d6{padding-inline-start:4.2rem}.d7{padding-inline-start:4.9rem}.d8{padding-inline-start:5.6rem}.d9{padding-inline-start:6.3rem}.d10{padding-inline-start:7rem}.d11{padding-inline-start:7.7rem}.d12{padding-inline-start:8.4rem}
    footer{padding-top:1.4rem;padding-bottom:2.5rem;color:var(--soft);font-size:.875rem}
    @media (max-width:44rem){
    body{font-size:15px}
    .top,main,footer,nav{padding-inline:.9rem}
    .panel,.card{padding:.9rem}
    .checks{grid-template-columns:1fr 1fr}
    .rows thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
    .rows,.rows tbody,.rows tr,.rows td{display:block}
    .rows tr{border-bottom:1px solid var(--line);padding:.6rem 0}
    .rows td,.rows td:nth-child(n){border:0;padding:.12rem 0;display:grid;grid-template-columns:5.4rem minmax(0,1fr);gap:.5rem}
    .rows td:nth-child(4) .zone{display:inline}
    .rows td::before{content:attr(data-column);color:var(--soft);font-size:.82rem;padding-top:.1rem}
    .events li{grid-template-columns:1fr;padding:.3rem 0}
    .facts{grid-template-columns:1fr;gap:0}.facts dd{margin-bottom:.35rem}
    .leaf{grid-template-columns:1fr}
    .d1,.d2,.d3{padding-inline-start:.5rem}.d4,.d5,.d6{padding-inline-start:1rem}.d7,.d8,.d9{padding-inline-start:1.5rem}.d10,.d11,.d12{padding-inline-start:2rem}
    .picture text{font-size:10px}
    }
    @media print{
    :root{--bg:#fff}
    body{font-size:10pt}
    nav,.skip{display:none}
    .card,.panel,.link,.lane,.check,tr,.leaf{break-inside:avoid}
    .piece,.panel{break-inside:auto}
    *{print-color-adjust:exact;-webkit-print-color-adjust:exact}
    a{color:inherit;text-decoration:none}
    }
    """
