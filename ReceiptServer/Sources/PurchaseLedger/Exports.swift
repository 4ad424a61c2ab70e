/// Events, outcomes and errors are types of the core.
@_exported public import LedgerCore
