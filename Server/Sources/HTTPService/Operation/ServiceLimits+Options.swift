extension ServiceLimits {
    /// The options for limits.
    package static let options: [OptionTable.Option] = [
        .init("--maximum-body", "BYTES", "The maximum size of a request's body; 1048576 by default. Beyond it: 413."),
        .init(
            "--connections", "NUMBER",
            "The maximum number of open connections; 4096 by default, or as many as the system allows. Beyond it: 503."),
        .init(
            "--queue", "NUMBER",
            "The maximum number of requests that wait because they are large (more than 64 KiB) or need the ledger; 256 by default. Large requests, the ledger's requests with a token, and notifications have so many places each. Beyond it: 503."
        ),
        .init(
            "--queue-time", "SECONDS",
            "The maximum time that such a request waits before it is begun; 5 by default. Beyond it: 503, and nothing is done."
        ),
        .init(
            "--memory", "BYTES",
            "The maximum size of all large bodies and answers together; 268435456 by default. With a ledger, large requests, its requests with a token, and notifications have a third each. Beyond it: 503."
        ),
        .init("--threads", "NUMBER", "The number of threads; by default that of the processors, and at least 2."),
        .init("--header-time", "SECONDS", "The maximum time for the headers of a request; 10 by default."),
        .init("--body-time", "SECONDS", "The maximum time for the body of a request; 10 by default."),
        .init("--answer-time", "SECONDS", "The maximum time in which a client reads its answer; 30 by default."),
        .init("--idle-time", "SECONDS", "The maximum time between two requests of a connection; 60 by default."),
    ]

    /// Creates the limits that options name.
    package init(_ values: OptionTable.Values) throws(ConfigurationError) {
        self.init()
        if let number = try values.number("--maximum-body", 1...(64 << 20)) { maximumBodyByteCount = number }
        if let number = try values.number("--connections", 1...1_000_000) {
            maximumConnectionCount = number
            allowsFewerConnections = false
        }
        if let number = try values.number("--queue", 1...1_000_000) { queueCapacity = number }
        if let time = try values.seconds("--queue-time") { queueTime = time }
        if let number = try values.number("--memory", 1...(1 << 40)) { memoryByteCount = number }
        guard memoryByteCount >= maximumBodyByteCount else {
            throw ConfigurationError("--memory must be at least the size of one body, \(maximumBodyByteCount)")
        }
        if let number = try values.number("--threads", 1...1024) { threadCount = number }
        if let time = try values.seconds("--header-time") { headerTime = time }
        if let time = try values.seconds("--body-time") { bodyTime = time }
        if let time = try values.seconds("--answer-time") { answerTime = time }
        if let time = try values.seconds("--idle-time") { idleTime = time }
    }
}

extension OptionTable.Values {
    /// Returns the number that is the value of an option; `nil` without the option.
    package func number(_ name: String, _ range: ClosedRange<Int>) throws(ConfigurationError) -> Int? {
        guard let text = self[name] else { return nil }
        guard let number = Int(text), range.contains(number), text.utf8.first != UInt8(ascii: "+") else {
            throw ConfigurationError(
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound), and is '\(text)'")
        }
        return number
    }

    /// Returns the time that is the value of an option; `nil` without the option.
    package func seconds(_ name: String, _ range: ClosedRange<Int> = 1...3600) throws(ConfigurationError) -> Duration? {
        try number(name, range).map { .seconds($0) }
    }

    /// Returns the address that is the value of an option; `nil` without the option.
    package func address(_ name: String) throws(ConfigurationError) -> ListenAddress? {
        guard let text = self[name] else { return nil }
        guard let address = ListenAddress(text) else {
            throw ConfigurationError(
                "\(name) must be a host and a port, such as 127.0.0.1:8080 or [::1]:8080, and is '\(text)'")
        }
        return address
    }
}
