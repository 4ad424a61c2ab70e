// Makes the faults of the library and the ledger's core for `scripts/mutants`: reads Swift files, prints the faults and
// the declarations as JSON.
//
// A fault is one change of one expression or statement. Its operator says which:
//
//   true, false  A Boolean expression in a check has this value. A check is the condition of a `guard`, or of an `if`
//                that throws or returns. Each of its conditions is held true, so that the check is skipped or only
//                another part of it counts. Of `a && b`, each operand is held true; of `a || b`, each is held false.
//   never        An `if` that throws or returns is not taken.
//   shift        A comparison in a check has the other limit: `<` for `<=`, `>` for `>=`, and the other way round.
//   raise        A property `maximum…` is larger by one.
//   flip         A Boolean literal that is the initial value of a property is the other one.
//   drop         A statement `try f()` is left out. Not in a `while` loop, which might not end, and not `self.init`.
//   swap         Two neighboring arguments of a call change places, if they have one type and one kind of syntax. Not
//                those of `min` and `max`.
//
// Faults are made in declarations that can refuse: those that throw, with their closures and local functions; and in
// the initial values of properties. They are not made in what only explains: `throw` statements, whose values locate
// and describe an error, and assertions. Nor is what a C function returns held true in a `guard` that throws
// `operationFailed` or `allocationFailed`: libcrypto fails there only for lack of memory, and no test can choose the
// place.
//
// The files after `--decisions` decide more than they refuse. All their declarations have faults, each Boolean
// expression counts as a check, any `if` may be not taken, and a dropped statement may also be a call or an assignment.
//
// A fault is named by its declaration, operator and text, and by a number where these are not unique in the module. It
// keeps its name when something else in the file changes.
import Foundation
import SwiftOperators
import SwiftParser
import SwiftSyntax

/// A change of the source from `start` to `end`: text around it, or in its place.
struct Edit: Encodable {
    let start: Int
    let end: Int
    var before = ""
    var after = ""
    var replacement: String?
}

struct Declaration: Encodable {
    let path: String
    let start: Int
    let end: Int
}

struct Fault: Encodable {
    let declaration: String
    let `operator`: String
    let text: String
    let start: Int
    let end: Int
    /// `%` stands for the number of the fault.
    let edits: [Edit]
}

final class Generator: SyntaxVisitor {
    /// Whether the files decide: see the top.
    private let decides: Bool
    private(set) var faults: [Fault] = []
    private(set) var declarations: [Declaration] = []
    private var path: [String] = []
    /// Whether the declarations around the current node have faults, by the rule at the top.
    private var isCovered = [false]
    /// Above zero in the conditions of a `guard`, and of an `if` that throws or returns.
    private var checkDepth = 0
    /// The expressions for which faults are already made.
    private var done: Set<SyntaxIdentifier> = []
    /// Whether the conditions are those of a `guard` that throws an error of libcrypto as one of the host.
    private var isOfHost = false
    /// The conditions of `while` loops and their operands. A loop that does not end takes the time of many faults.
    private var loopConditions: Set<SyntaxIdentifier> = []

    init(decides: Bool) {
        self.decides = decides
        super.init(viewMode: .sourceAccurate)
    }

    // MARK: Declarations

    private func enter(_ name: String, _ node: some SyntaxProtocol, isCovered: Bool = false)
        -> SyntaxVisitorContinueKind
    {
        path.append(name)
        self.isCovered.append(isCovered || self.isCovered.last == true)
        let (start, end) = span(node)
        declarations.append(Declaration(path: path.joined(separator: "."), start: start, end: end))
        return .visitChildren
    }

    private func leave() {
        path.removeLast()
        isCovered.removeLast()
    }

    private func labels(_ parameters: FunctionParameterClauseSyntax) -> String {
        "(" + parameters.parameters.map { $0.firstName.text + ":" }.joined() + ")"
    }

    override func visit(_ node: ExtensionDeclSyntax) -> SyntaxVisitorContinueKind {
        enter(node.extendedType.trimmedDescription, node)
    }
    override func visitPost(_ node: ExtensionDeclSyntax) { leave() }
    override func visit(_ node: StructDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text, node) }
    override func visitPost(_ node: StructDeclSyntax) { leave() }
    override func visit(_ node: EnumDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text, node) }
    override func visitPost(_ node: EnumDeclSyntax) { leave() }
    override func visit(_ node: ClassDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text, node) }
    override func visitPost(_ node: ClassDeclSyntax) { leave() }
    override func visit(_ node: ProtocolDeclSyntax) -> SyntaxVisitorContinueKind { enter(node.name.text, node) }
    override func visitPost(_ node: ProtocolDeclSyntax) { leave() }
    override func visit(_ node: InitializerDeclSyntax) -> SyntaxVisitorContinueKind {
        enter(
            "init" + labels(node.signature.parameterClause), node,
            isCovered: node.signature.effectSpecifiers?.throwsClause != nil)
    }
    override func visitPost(_ node: InitializerDeclSyntax) { leave() }
    override func visit(_ node: SubscriptDeclSyntax) -> SyntaxVisitorContinueKind {
        enter("subscript" + labels(node.parameterClause), node)
    }
    override func visitPost(_ node: SubscriptDeclSyntax) { leave() }

    override func visit(_ node: FunctionDeclSyntax) -> SyntaxVisitorContinueKind {
        _ = enter(
            node.name.text + labels(node.signature.parameterClause), node,
            isCovered: node.signature.effectSpecifiers?.throwsClause != nil)
        return .visitChildren
    }
    override func visitPost(_ node: FunctionDeclSyntax) { leave() }

    private func isMember(_ node: VariableDeclSyntax) -> Bool {
        node.parent?.is(MemberBlockItemSyntax.self) == true
            || node.parent?.parent?.parent?.is(SourceFileSyntax.self) == true
    }

    override func visit(_ node: VariableDeclSyntax) -> SyntaxVisitorContinueKind {
        guard isMember(node) else { return .visitChildren }
        let name = node.bindings.first?.pattern.trimmedDescription ?? ""
        let isCovered = node.bindings.contains { binding in
            guard let accessor = binding.accessorBlock else { return binding.initializer != nil }
            guard case .accessors(let list) = accessor.accessors else { return false }
            return list.contains { $0.effectSpecifiers?.throwsClause != nil }
        }
        _ = enter(name, node, isCovered: isCovered)
        for binding in node.bindings {
            if name.hasPrefix("maximum"), let value = binding.initializer?.value, Self.isIntegerExpression(value) {
                wrap(value, "raise", "raised(%, ")
            }
        }
        return .visitChildren
    }
    override func visitPost(_ node: VariableDeclSyntax) { if isMember(node) { leave() } }

    private static func isIntegerExpression(_ expression: ExprSyntax) -> Bool {
        if expression.is(IntegerLiteralExprSyntax.self) { return true }
        guard let infix = expression.as(InfixOperatorExprSyntax.self), !infix.operator.trimmedDescription.contains("..")
        else {
            return false
        }
        return isIntegerExpression(infix.leftOperand) && isIntegerExpression(infix.rightOperand)
    }

    // MARK: Faults

    private func add(_ name: String, _ node: some SyntaxProtocol, _ text: String, _ edits: [Edit]) {
        let isCheck = ["true", "false", "never", "shift"].contains(name)
        guard decides || isCovered.last == true && (checkDepth > 0 || !isCheck) else { return }
        let words = text.split(whereSeparator: \.isWhitespace).joined(separator: " ")
        let short = words.count > 60 ? words.prefix(59) + "…" : words
        let (start, end) = span(node)
        faults.append(
            Fault(
                declaration: path.joined(separator: "."), operator: name, text: String(short), start: start, end: end,
                edits: edits))
    }

    private func span(_ node: some SyntaxProtocol) -> (Int, Int) {
        (node.positionAfterSkippingLeadingTrivia.utf8Offset, node.endPositionBeforeTrailingTrivia.utf8Offset)
    }

    private func wrap(_ node: some SyntaxProtocol, _ name: String, _ before: String, _ after: String = ")") {
        let (start, end) = span(node)
        add(name, node, node.trimmedDescription, [Edit(start: start, end: end, before: before, after: after)])
    }

    /// The faults of a Boolean expression: it is `true`, or `false`, or one of its operands does not count.
    private func mutate(_ expression: ExprSyntax, _ canBeTrue: Bool, _ canBeFalse: Bool) {
        guard done.insert(expression.id).inserted else { return }
        if let inner = expression.as(TryExprSyntax.self)?.expression { return mutate(inner, canBeTrue, canBeFalse) }
        if let inner = expression.as(UnsafeExprSyntax.self)?.expression { return mutate(inner, canBeTrue, canBeFalse) }
        if let inner = expression.as(AwaitExprSyntax.self)?.expression { return mutate(inner, canBeTrue, canBeFalse) }
        if let tuple = expression.as(TupleExprSyntax.self), tuple.elements.count == 1,
            let inner = tuple.elements.first?.expression
        {
            return mutate(inner, canBeTrue, canBeFalse)
        }
        if expression.is(BooleanLiteralExprSyntax.self) || expression.is(SwitchExprSyntax.self)
            || expression.is(IfExprSyntax.self)
        {
            return
        }
        if let ternary = expression.as(TernaryExprSyntax.self) {
            mutate(ternary.condition, true, true)
            mutate(ternary.thenExpression, canBeTrue, canBeFalse)
            return mutate(ternary.elseExpression, canBeTrue, canBeFalse)
        }
        switch logicalOperator(expression) {
        case ("&&", let left, let right)?:
            mutate(left, true, false)
            mutate(right, true, false)
            if canBeFalse { wrap(expression, "false", "isFalse(%, ") }
        case ("||", let left, let right)?:
            mutate(left, false, true)
            mutate(right, false, true)
            if canBeTrue { wrap(expression, "true", "isTrue(%, ") }
        default:
            if isOfHost, Self.isResultOfC(expression) { return }
            if canBeTrue { wrap(expression, "true", "isTrue(%, ") }
            if canBeFalse { wrap(expression, "false", "isFalse(%, ") }
        }
    }

    /// Whether an expression compares what a C function returns: `EVP_PKEY_sign_init(context) == 1`.
    private static func isResultOfC(_ expression: ExprSyntax) -> Bool {
        let call = expression.as(InfixOperatorExprSyntax.self)?.leftOperand.as(FunctionCallExprSyntax.self)
        return call?.calledExpression.as(DeclReferenceExprSyntax.self)?.baseName.text.contains("_") == true
    }

    private func logicalOperator(_ expression: ExprSyntax) -> (String, ExprSyntax, ExprSyntax)? {
        guard let infix = expression.as(InfixOperatorExprSyntax.self),
            let name = infix.operator.as(BinaryOperatorExprSyntax.self)?.operator.text
        else { return nil }
        return (name, infix.leftOperand, infix.rightOperand)
    }

    override func visit(_ node: ThrowStmtSyntax) -> SyntaxVisitorContinueKind { .skipChildren }

    override func visit(_ node: GuardStmtSyntax) -> SyntaxVisitorContinueKind {
        let thrown = node.body.trimmedDescription
        let outer = isOfHost
        isOfHost = thrown.contains("(.operationFailed)") || thrown.contains("(.allocationFailed)")
        check(node.conditions)
        isOfHost = outer
        walk(node.body)
        return .skipChildren
    }

    override func visit(_ node: IfExprSyntax) -> SyntaxVisitorContinueKind {
        let last = node.body.statements.last?.item
        let exits = last?.is(ThrowStmtSyntax.self) == true || last?.is(ReturnStmtSyntax.self) == true
        if exits || decides {
            check(node.conditions, isIf: true)
        } else {
            walk(node.conditions)
        }
        walk(node.body)
        if let body = node.elseBody { walk(body) }
        return .skipChildren
    }

    private func check(_ conditions: ConditionElementListSyntax, isIf: Bool = false) {
        checkDepth += 1
        if isIf { wrap(conditions, "never", "!isMutant(%), ", "") }
        for condition in conditions {
            if case .expression(let value) = condition.condition { mutate(value, true, false) }
        }
        walk(conditions)
        checkDepth -= 1
    }

    override func visit(_ node: TernaryExprSyntax) -> SyntaxVisitorContinueKind {
        mutate(node.condition, true, true)
        return .visitChildren
    }

    override func visit(_ node: WhileStmtSyntax) -> SyntaxVisitorContinueKind {
        for condition in node.conditions {
            guard case .expression(let value) = condition.condition else { continue }
            for part in [value] + operands(of: value) {
                done.insert(part.id)
                loopConditions.insert(part.id)
            }
        }
        return .visitChildren
    }

    private func operands(of expression: ExprSyntax) -> [ExprSyntax] {
        switch logicalOperator(expression) {
        case ("&&", let left, let right)?, ("||", let left, let right)?:
            [left, right] + operands(of: left) + operands(of: right)
        default: []
        }
    }

    override func visit(_ node: InfixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        guard let token = node.operator.as(BinaryOperatorExprSyntax.self)?.operator else { return .visitChildren }
        if ["==", "!=", "<", "<=", ">", ">=", "~=", "===", "!==", "&&", "||"].contains(token.text) {
            mutate(ExprSyntax(node), true, true)
        }
        if ["<", "<=", ">", ">="].contains(token.text), !loopConditions.contains(node.id),
            !Self.isPair(node.leftOperand)
        {
            let function = ["<": "isLess", "<=": "isAtMost", ">": "isGreater", ">=": "isAtLeast"][token.text] ?? ""
            let (start, end) = span(node)
            let (first, last) = span(token)
            let edits = [
                Edit(start: start, end: end, before: function + "(%, ", after: ")"),
                Edit(start: first, end: last, replacement: ","),
            ]
            add("shift", node, node.trimmedDescription, edits)
        }
        return .visitChildren
    }

    private static func isPair(_ expression: ExprSyntax) -> Bool {
        (expression.as(TupleExprSyntax.self)?.elements.count ?? 1) > 1
    }

    override func visit(_ node: PrefixOperatorExprSyntax) -> SyntaxVisitorContinueKind {
        if node.operator.text == "!" { mutate(ExprSyntax(node), true, true) }
        return .visitChildren
    }

    override func visit(_ node: BooleanLiteralExprSyntax) -> SyntaxVisitorContinueKind {
        let isInitialValue = node.parent?.parent?.parent?.parent?.as(VariableDeclSyntax.self).map(isMember) == true
        if isInitialValue { wrap(node, "flip", "(isMutant(%) != ") }
        return .visitChildren
    }

    override func visit(_ node: FunctionCallExprSyntax) -> SyntaxVisitorContinueKind {
        let name = node.calledExpression.trimmedDescription
        if ["assert", "assertionFailure", "precondition", "preconditionFailure"].contains(name) {
            return .skipChildren
        }
        let arguments = ["min", "max"].contains(name) ? [] : Array(node.arguments)
        for (left, right) in zip(arguments, arguments.dropFirst()) {
            let first = left.expression
            let second = right.expression
            guard first.kind == second.kind, Self.canBeSwapped(first), Self.canBeSwapped(second),
                first.trimmedDescription != second.trimmedDescription
            else {
                continue
            }
            var edits: [Edit] = []
            for (one, other) in [(first, second), (second, first)] {
                let (start, end) = span(one)
                edits.append(
                    Edit(start: start, end: end, before: "swapped(%, ", after: ", \(other.trimmedDescription))"))
            }
            add("swap", node, "\(first.trimmedDescription), \(second.trimmedDescription)", edits)
        }
        return .visitChildren
    }

    private static func canBeSwapped(_ expression: ExprSyntax) -> Bool {
        switch expression.kind {
        case .declReferenceExpr, .integerLiteralExpr: true
        case .memberAccessExpr:
            // A member of the type that is expected has another meaning as an argument of a generic function.
            expression.as(MemberAccessExprSyntax.self)?.base?.is(DeclReferenceExprSyntax.self) == true
        default: false
        }
    }

    override func visit(_ node: CodeBlockItemSyntax) -> SyntaxVisitorContinueKind {
        if case .expr(let expression) = node.item, let statement = dropped(expression),
            !isReturned(node), !isInLoop(node), !statement.trimmedDescription.hasPrefix("self.init")
        {
            wrap(node, "drop", "if !isMutant(%) { ", " }")
        }
        return .visitChildren
    }

    /// The expression of a statement that can be left out.
    private func dropped(_ expression: ExprSyntax) -> ExprSyntax? {
        if let statement = expression.as(TryExprSyntax.self) { return statement.expression }
        guard decides else { return nil }
        // The properties of an initializer need their values.
        let isAssignment = expression.as(InfixOperatorExprSyntax.self).map { infix in
            infix.operator.is(AssignmentExprSyntax.self) || ["+=", "-="].contains(infix.operator.trimmedDescription)
        }
        let isInInitializer = path.last?.hasPrefix("init(") == true
        return expression.is(FunctionCallExprSyntax.self) || isAssignment == true && !isInInitializer ? expression : nil
    }

    /// Whether a node is in a `while` loop, which might not end without it.
    private func isInLoop(_ node: some SyntaxProtocol) -> Bool {
        var parent = node.parent
        while let current = parent, !current.is(FunctionDeclSyntax.self), !current.is(ClosureExprSyntax.self) {
            if current.is(WhileStmtSyntax.self) { return true }
            parent = current.parent
        }
        return false
    }

    /// Whether a `switch` or `if` is used as an expression.
    private func isValue(_ node: Syntax?) -> Bool {
        guard let parent = node?.parent else { return false }
        if parent.is(IfExprSyntax.self) { return isValue(parent) }
        guard let item = parent.as(ExpressionStmtSyntax.self)?.parent?.as(CodeBlockItemSyntax.self) else { return true }
        return isReturned(item)
    }

    /// Whether the only expression of a body is what it returns.
    private func isReturned(_ node: CodeBlockItemSyntax) -> Bool {
        guard let list = node.parent?.as(CodeBlockItemListSyntax.self), list.count == 1 else { return false }
        guard let owner = list.parent else { return false }
        if owner.is(AccessorBlockSyntax.self) || owner.is(ClosureExprSyntax.self) { return true }
        if let branch = owner.as(SwitchCaseSyntax.self) { return isValue(branch.parent?.parent) }
        if let block = owner.as(CodeBlockSyntax.self) {
            if let conditional = block.parent?.as(IfExprSyntax.self) { return isValue(Syntax(conditional)) }
            if let function = block.parent?.as(FunctionDeclSyntax.self) {
                return function.signature.returnClause != nil
            }
            if let accessor = block.parent?.as(AccessorDeclSyntax.self) {
                return accessor.accessorSpecifier.text == "get"
            }
        }
        return false
    }
}

struct File: Encodable {
    let file: String
    let faults: [Fault]
    let declarations: [Declaration]
}

let arguments = CommandLine.arguments.dropFirst()
let parts = arguments.split(separator: "--decisions", omittingEmptySubsequences: false)
let files = try parts.enumerated().flatMap { part, paths in try paths.map { try read($0, decides: part > 0) } }
print(String(decoding: try JSONEncoder().encode(files), as: UTF8.self))

func read(_ path: String, decides: Bool) throws -> File {
    let source = try String(contentsOfFile: path, encoding: .utf8)
    let generator = Generator(decides: decides)
    generator.walk(OperatorTable.standardOperators.foldAll(Parser.parse(source: source)) { _ in })
    return File(file: path, faults: generator.faults, declarations: generator.declarations)
}
