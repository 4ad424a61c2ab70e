// The library adds nothing to strings and arrays that completion would show.
import AppStoreReceipt

func count(_ text: String) -> Int {
    #if CONTROL
    text.utf8.count
    #else
    // error: 'evidenceArray' is inaccessible
    text.evidenceArray.count
    #endif
}
