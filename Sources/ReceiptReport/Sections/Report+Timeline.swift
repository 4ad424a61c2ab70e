@_spi(Surfaces) import AppStoreReceipt
import SpanASN1
import StrictText

// The timeline: a line for each subscription and each product that is bought once, all with the same scale.
extension Report {
    /// A line of the timeline.
    struct Lane {
        /// A time span.
        struct Bar {
            let style: Style
            let start: Instant
            let end: Instant

            /// Whether it is the rest of a period that was refunded or replaced.
            var isLost: Bool { style == .refunded || style == .replaced }
        }

        /// A point in time.
        struct Mark {
            let style: Style
            let date: Instant

            var shape: StaticString {
                switch style {
                case .once: "M0-8 8 0 0 8-8 0Z"
                case .change: "M0-19 5-11H-5Z"
                default: "M-6-6 6 6M6-6-6 6"
                }
            }
        }

        struct Event {
            let date: Instant
            let phrase: Phrase
            var slots: [Slot] = []
            var offer: PurchaseOffer?
        }

        var name: String
        /// The subscription's first transaction; `nil` for a one-time purchase.
        var subscription: Subscription?
        var bars: [Bar] = []
        var gaps: [Bar] = []
        var marks: [Mark] = []
        var events: [Event] = []
        var earlierCount = 0
    }

    private static let maximumLaneCount = 24
    private static let maximumPeriodCount = 60
    private static let maximumEventCount = 12

    /// All lines: subscriptions first, the latest at the top.
    var lanes: [Lane] { subscriptionLanes + oneTimeLanes }

    func timeline(_ html: inout HTMLWriter) {
        let lanes = lanes
        let date = decision.entitlements.date
        let shown = lanes.prefix(Self.maximumLaneCount)
        let dates = shown.flatMap { lane in
            lane.bars.flatMap { [$0.start, $0.end] } + lane.marks.map(\.date)
        }
        guard let latest = dates.max(), let all = Scale(dates + [date]) else { return }
        // Evidence can end in the year 4001: a date far in the future would compress everything else.
        let limit = max(date, dates.filter { $0 <= date }.max() ?? date).advanced(
            by: .seconds(max(86_400 * 400, Int64(clamping: all.start.duration(to: date).components.seconds))))
        guard let scale = Scale([all.start, min(max(latest, date), limit)]) else { return }
        html.element(.section, .style(.panel), .id(.timeline)) { html in
            html.element(.h2, phrase: .timeline)
            html.element(.p, .style(.note), phrase: .timelineAbout, .date(scale.start), .date(scale.end))
            legend(Array(shown), &html)
            for (index, lane) in shown.enumerated() {
                self.lane(lane, scale, hasLabels: index == 0 || lane.subscription != nil, &html)
            }
            if lanes.count > shown.count {
                html.element(.p, .style(.note), phrase: .moreSubscriptions, .number(lanes.count - shown.count))
            }
        }
    }

    private func legend(_ lanes: [Lane], _ html: inout HTMLWriter) {
        let used = Set(lanes.flatMap { $0.bars.map(\.style) + $0.gaps.map(\.style) + $0.marks.map(\.style) })
        let keys: [(Style, Phrase)] = [
            (.paid, .legendPaid), (.offer, .legendOffer), (.grace, .legendGrace), (.refunded, .legendRefunded),
            (.replaced, .legendReplaced), (.future, .legendFuture), (.gap, .legendGap), (.change, .legendChange),
            (.once, .oneTimePurchases),
            (.crossed, .eventRefunded),
        ]
        html.element(.ul, .style(.legend)) { html in
            for (style, phrase) in keys where used.contains(style) { key(style, &html) { $0.phrase(phrase) } }
            key(.now, &html) { $0.phrase(.decidedFor, .date(decision.entitlements.date)) }
        }
    }

    private func key(_ style: Style, _ html: inout HTMLWriter, words: (inout HTMLWriter) -> Void) {
        html.element(.li) { html in
            html.element(.span, .styles([.key, style]), .hidden)
            html.element(.span, content: words)
        }
    }

    // MARK: Drawing

    private func lane(_ lane: Lane, _ scale: Scale, hasLabels: Bool, _ html: inout HTMLWriter) {
        html.element(.div, .style(.lane)) { html in
            html.element(.div, .style(.laneName)) { html in
                html.element(.h3, .style(.name)) { $0.inline(lane.name) }
                if let subscription = lane.subscription {
                    html.element(
                        .span, .styles([.badge, subscription.access.style]), phrase: subscription.access.phrase)
                    html.element(.small) { html in
                        html.phrase(.subscription, .text(subscription.originalTransactionID))
                    }
                }
            }
            drawing(lane, scale, hasLabels: hasLabels, &html)
            if let sentences = lane.subscription?.renewalSentences(), !sentences.isEmpty {
                html.element(.p, .style(.note)) { $0.sentences(sentences) }
            }
            events(lane, &html)
        }
    }

    private func drawing(_ lane: Lane, _ scale: Scale, hasLabels: Bool, _ html: inout HTMLWriter) {
        html.element(
            .svg, .style(.picture), .height(.pixels(hasLabels ? 54 : 40)), .role(.img),
            .label(html.plain(.timelinePicture))
        ) { html in
            for (index, part) in [0, 3333, 6667, 10_000].enumerated() {
                html.element(
                    .line, .style(.tick), .x1(.part(part)), .x2(.part(part)), .y1(.pixels(4)), .y2(.pixels(38)))
                guard hasLabels else { continue }
                html.element(
                    .text, .x(.part(part)), .y(.pixels(51)),
                    .textAnchor(index == 0 ? .start : index == 3 ? .end : .middle), text: scale.label(at: part))
            }
            html.element(.line, .style(.axis), .x1(.part(0)), .x2(.part(10_000)), .y1(.pixels(38)), .y2(.pixels(38)))
            for gap in lane.gaps {
                html.element(
                    .line, .style(.gap), .x1(.part(scale.part(of: gap.start))), .x2(.part(scale.part(of: gap.end))),
                    .y1(.pixels(20)), .y2(.pixels(20)))
            }
            // Draw lost time below everything else.
            for bar in lane.bars.filter(\.isLost) + lane.bars.filter({ !$0.isLost }) {
                let (start, end) = (scale.part(of: bar.start), scale.part(of: bar.end))
                // Leave a gap between adjacent periods, and keep short ones visible.
                let width = max(30, end - start > 120 ? end - start - 15 : end - start)
                html.element(
                    .rect, .style(bar.style), .x(.part(min(start, 9970))), .y(.pixels(10)), .width(.part(width)),
                    .height(.pixels(20)), .cornerRadius(.pixels(3)))
            }
            for mark in lane.marks {
                html.element(.svg, .x(.part(scale.part(of: mark.date))), .y(.pixels(20))) { html in
                    html.element(
                        .path, .style(mark.style),
                        .shape(mark.shape))
                }
            }
            let now = scale.part(of: decision.entitlements.date)
            html.element(.line, .style(.now), .x1(.part(now)), .x2(.part(now)), .y1(.pixels(2)), .y2(.pixels(38)))
        }
    }

    private func events(_ lane: Lane, _ html: inout HTMLWriter) {
        let events = lane.events.suffix(Self.maximumEventCount * 5)
        let old = events.dropLast(Self.maximumEventCount)
        if lane.earlierCount > 0 || events.count < lane.events.count {
            html.element(
                .p, .style(.note), phrase: .eventEarlier,
                .number(max(lane.earlierCount, lane.events.count - events.count)))
        }
        if !old.isEmpty {
            html.element(.details) { html in
                html.element(.summary) { html in
                    html.phrase(.showAll)
                    html.text(" (\(events.count))")
                }
                list(old, &html)
            }
        }
        list(events.suffix(Self.maximumEventCount), &html)
    }

    private func list(_ events: ArraySlice<Lane.Event>, _ html: inout HTMLWriter) {
        html.element(.ol, .style(.events)) { html in
            for event in events {
                html.element(.li) { html in
                    html.element(.span) { $0.date(event.date) }
                    html.element(.span) { html in
                        html.phrase(event.phrase, event.slots)
                        if let offer = event.offer {
                            html.text(" · ")
                            self.offer(offer, &html)
                        }
                    }
                }
            }
        }
    }

    // MARK: Facts

    private var subscriptionLanes: [Lane] {
        decision.entitlements.subscriptions.reversed().map { subscription in
            var lane = Lane(name: subscription.productID, subscription: subscription)
            let periods = subscription.periods.suffix(Self.maximumPeriodCount)
            lane.earlierCount = subscription.periods.count - periods.count
            var previous: Entitlements.Item?
            for period in periods {
                lane.add(period, after: previous, at: decision.entitlements.date)
                previous = period
            }
            if let last = previous { lane.addEnd(of: last, at: decision.entitlements.date) }
            return lane
        }
    }

    private var oneTimeLanes: [Lane] {
        var lanes: [Lane] = []
        var laneByProduct: [UTF8Bytes: Int] = [:]
        let date = decision.entitlements.date
        for item in decision.entitlements.items where item.isOneTime {
            let key = UTF8Bytes(item.purchase.productID)
            let index = laneByProduct[key] ?? lanes.count
            if index == lanes.count {
                laneByProduct[key] = index
                lanes.append(Lane(name: item.purchase.productID))
            }
            guard lanes[index].events.count < Self.maximumPeriodCount * 2 else {
                lanes[index].earlierCount += 1
                continue
            }
            lanes[index].addOneTime(item, at: date)
        }
        return lanes.reversed()
    }
}

extension Entitlements.Item {
    /// Whether it is no auto-renewable subscription.
    fileprivate var isOneTime: Bool {
        guard let type = purchase.productType else { return purchase.expiresDate == nil }
        return type == .consumable || type == .nonConsumable || type == .nonRenewingSubscription
    }

    /// The date of a refund; an upgrade is none.
    fileprivate var refundDate: Instant? {
        if case .upgraded = access { return nil }
        guard purchase.isRevoked == true else { return nil }
        return purchase.revocationDate ?? accessEndDate ?? purchase.purchaseDate
    }
}

extension Report.Lane {
    fileprivate mutating func add(_ period: Entitlements.Item, after previous: Entitlements.Item?, at date: Instant) {
        let purchase = period.purchase
        let start = purchase.purchaseDate
        let paid = purchase.expiresDate ?? period.accessEndDate ?? start
        let end = max(start, period.accessEndDate ?? paid)
        var replacedBefore = false
        if let previous, let end = previous.accessEndDate {
            if end < start, end.duration(to: start) > .seconds(60) {
                gaps.append(Bar(style: .gap, start: end, end: start))
                events.append(Event(date: end, phrase: .eventGap, slots: [.date(start)]))
            }
            if case .upgraded = previous.access {
                replacedBefore = true
                marks.append(Mark(style: .change, date: start))
            }
        }
        let isSame = previous.map { $0.purchase.productID.hasSameBytes(as: purchase.productID) }
        let offer = purchase.offer
        switch isSame {
        case nil: events.append(Event(date: start, phrase: .eventBought, offer: offer))
        case true?: events.append(Event(date: start, phrase: .eventRenewed, offer: offer))
        case false?:
            events.append(
                Event(
                    date: start, phrase: replacedBefore ? .eventUpgradedTo : .eventChangedTo,
                    slots: [.text(purchase.productID)], offer: offer))
        }
        let style: Style = start > date ? .future : offer == nil ? .paid : .offer
        let paidEnd = min(end, max(start, paid))
        if paidEnd > start { bars.append(Bar(style: style, start: start, end: paidEnd)) }
        if end > paidEnd {
            bars.append(Bar(style: .grace, start: paidEnd, end: end))
            events.append(Event(date: paidEnd, phrase: .eventGrace, slots: [.date(end)]))
        }
        if paid > end, paid > start {
            bars.append(Bar(style: period.refundDate == nil ? .replaced : .refunded, start: end, end: paid))
        }
        if let refund = period.refundDate {
            marks.append(Mark(style: .crossed, date: refund))
            events.append(Event(date: refund, phrase: .eventRefunded))
        }
    }

    fileprivate mutating func addEnd(of last: Entitlements.Item, at date: Instant) {
        guard last.refundDate == nil, let end = last.accessEndDate else { return }
        if case .upgraded = last.access { return }
        events.append(Event(date: end, phrase: end <= date ? .eventExpired : .eventExpires))
    }

    fileprivate mutating func addOneTime(_ item: Entitlements.Item, at date: Instant) {
        let purchase = item.purchase
        let isRestored = !item.firstTransactionID.hasSameBytes(as: purchase.transactionID)
        if let end = item.accessEndDate, item.refundDate == nil, end > purchase.purchaseDate {
            bars.append(
                Bar(style: purchase.purchaseDate > date ? .future : .paid, start: purchase.purchaseDate, end: end))
        }
        marks.append(Mark(style: .once, date: purchase.purchaseDate))
        events.append(
            Event(
                date: purchase.purchaseDate, phrase: isRestored ? .eventRestored : .eventBought, offer: purchase.offer))
        if let refund = item.refundDate {
            marks.append(Mark(style: .crossed, date: refund))
            events.append(Event(date: refund, phrase: .eventRefunded))
        }
    }
}

extension Scale {
    /// The day, or the minute on a scale of a few days.
    fileprivate func label(at part: Int) -> String {
        let text = date(at: part).compactText
        let isShort = length < 3 * 86_400_000
        return String(isShort ? text.dropFirst(5).prefix(11) : text.prefix { $0 != " " })
    }
}
