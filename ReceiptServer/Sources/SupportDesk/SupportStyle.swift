@_spi(Surfaces) import ReceiptReport

/// The desk's additions to the report's styles.
enum SupportStyle {
    static let sheet = StyleSheet(text)

    private static let text: StaticString = """
        .bar{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;align-items:center;max-width:68rem;margin:0 auto;padding:.8rem 1.25rem}
        .desk{font-weight:700;margin-right:auto}
        .bar nav{margin:0;padding:0}.bar nav ul{padding:0}
        form{display:grid;gap:.3rem;margin:0}
        label{font-size:.9rem;color:var(--soft)}
        input,textarea,select,button{font:inherit;color:var(--ink);background:var(--bg);border:1px solid var(--grey);border-radius:8px;padding:.5rem .7rem;min-width:0;width:100%;min-height:44px}
        textarea{font-family:ui-monospace,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.9em;resize:vertical}
        button{background:var(--info);border-color:var(--info);color:var(--panel);font-weight:600;cursor:pointer;width:auto;justify-self:start;padding-inline:1.2rem}
        button.quietly{background:none;color:var(--info)}
        .narrow{max-width:30rem}
        .ask{margin-top:.4rem}
        h1{margin:1.4rem 0 .4rem}
        .notice{border-left:4px solid var(--info);background:var(--infobg);border-radius:0 9px 9px 0;padding:.75rem 1rem;margin-top:1rem}
        .notice.bad{border-left-color:var(--bad);background:var(--badbg)}
        .answers{display:grid;gap:.35rem;margin-bottom:1rem}
        .answers li{border-left:4px solid var(--grey);padding:.1rem .7rem;font-size:1.05rem}
        .answers li:first-child{font-weight:600}
        .answers .good{border-left-color:var(--good)}.answers .warn{border-left-color:var(--warn)}.answers .bad{border-left-color:var(--bad)}
        .story li{display:grid;grid-template-columns:18.5rem minmax(0,1fr);gap:0 1rem;padding:.45rem 0;border-top:1px solid var(--line)}
        .story li>:first-child .zone{display:block}
        .story .bad{color:var(--bad)}
        .doing{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,20rem),1fr));gap:.8rem;margin-top:.6rem}
        .deed{border:1px solid var(--line);border-radius:9px;padding:.8rem .9rem;min-width:0}
        .deed p{margin-bottom:.4rem}
        @media (max-width:44rem){
        .bar{padding-inline:.9rem}
        .story li{grid-template-columns:1fr}
        .story li>:first-child .zone{display:inline}
        }
        @media print{.bar,form,.doing{display:none}}
        """
}
