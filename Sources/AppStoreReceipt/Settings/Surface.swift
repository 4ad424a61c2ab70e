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
        case .c, .python, .php, .java, .node, .go: surface.spelled(rawValue)
        }
    }

    private func flag(on surface: Surface) -> String? { surface == .server && !row.isOnServer ? nil : row.flag }
}

extension Surface {
    /// Spells a name, such as `bundle_id`, as the language does.
    @_spi(Surfaces) public func spelled(_ name: String) -> String {
        let words = name.split(separator: "_").map { (String($0), $0.prefix(1).uppercased() + $0.dropFirst()) }
        return switch self {
        case .c, .python, .swift, .command, .server: name
        case .php, .java, .node: words.enumerated().map { $0 == 0 ? $1.0 : $1.1 }.joined()
        case .go: words.map { Self.initialisms[$0] ?? $1 }.joined()
        }
    }

    private static let initialisms = ["id": "ID", "json": "JSON", "rsa": "RSA", "storekit": "StoreKit"]
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
