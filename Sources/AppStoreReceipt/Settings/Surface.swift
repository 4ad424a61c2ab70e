/// A place where a verifier is made. Each has its own names for the settings.
@_spi(Surfaces) public enum Surface: String, CaseIterable, Sendable {
    case swift, command, server, c, python, php, java, node, go
}

extension VerifierSetting {
    /// The name on a surface; `nil` if the surface does not have the setting.
    @_spi(Surfaces) public func name(on surface: Surface) -> String? {
        switch surface {
        case .swift: row.swift
        // The files of `--root` may have intermediates, too.
        case .command, .server: self == .transactionReceiptIssuers ? VerifierSetting.roots.row.flag : flag(on: surface)
        case .c, .python: rawValue
        case .php, .java, .node:
            rawValue.split(separator: "_").enumerated().map { index, word in
                index == 0 ? String(word) : word.prefix(1).uppercased() + word.dropFirst()
            }.joined()
        case .go:
            rawValue.split(separator: "_").map { word in
                Self.initialisms[String(word)] ?? word.prefix(1).uppercased() + word.dropFirst()
            }.joined()
        }
    }

    private func flag(on surface: Surface) -> String? { surface == .server && !row.isOnServer ? nil : row.flag }

    private static let initialisms = ["id": "ID", "rsa": "RSA", "storekit": "StoreKit"]
}

/// A value of a setting that cannot be read.
@_spi(Surfaces) public struct SettingFault: Error, Hashable, Sendable {
    public let setting: VerifierSetting
    public let value: String
    /// The values that can be read.
    public var expected: String { setting.row.expected }

    /// The reason in words, with the setting's name on a surface.
    public func text(on surface: Surface) -> String {
        "\(setting.name(on: surface) ?? setting.rawValue) cannot be '\(value)'; expected: \(expected)"
    }
}
