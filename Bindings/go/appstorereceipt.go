// Package appstorereceipt verifies what Apple signs for the App Store, offline: receipts, StoreKit 2 transactions, server
// notifications, and transaction receipts of iOS 3 to 6. It calls libappstorereceipt.
package appstorereceipt

// #cgo pkg-config: appstorereceipt
// #include <appstorereceipt.h>
import "C"

import (
	"encoding/json"
	"runtime"
	"time"
	"unsafe"
)

// Status is the result of a call that failed.
type Status int32

const (
	Refused       Status = C.ASR_REFUSED       // The evidence is not genuine, or the options do not accept it.
	Host          Status = C.ASR_HOST          // This host or this library is at fault: keep the evidence.
	Configuration Status = C.ASR_CONFIGURATION // The options are at fault.
	Usage         Status = C.ASR_USAGE         // The call is wrong.
)

// VerificationError is the reason that evidence was refused, or that a Verifier could not be made. Find it with errors.As.
type VerificationError struct {
	Status      Status
	Code        string // a stable word such as "bundle-id-mismatch"
	Category    string // who can correct the error: "client", "forgery" or "host"
	Message     string
	Advice      string
	VerdictJSON []byte // the refusal, or nil
}

func (e *VerificationError) Error() string { return e.Code + ": " + e.Message }

// HTTPStatus is the status to respond with: 400, 403 or 500.
func (e *VerificationError) HTTPStatus() int {
	switch e.Category {
	case "client":
		return 400
	case "forgery":
		return 403
	}
	return 500
}

// Form says what a verdict's JSON has.
type Form uint32

const (
	Full  Form = C.ASR_JSON_FULL  // all contents
	Brief Form = C.ASR_JSON_BRIEF // the kind and the trust
	None  Form = C.ASR_JSON_NONE  // there is no JSON
)

// Evidence is evidence that was verified.
type Evidence struct {
	VerdictJSON []byte // the verdict, to store; nil with the form None
}

// Trust is who signed the evidence.
type Trust struct {
	Authority   string    `json:"authority"`
	Anchor      string    `json:"anchor"`
	Signer      string    `json:"signer"`
	Expires     time.Time `json:"signer_expires"`
	Digest      string    `json:"digest"`
	ValidatedAt time.Time `json:"validated_at"`
}

// Verdict is the JSON of a verdict. Of the contents, the member that Kind names and a notification's signed parts are set.
type Verdict struct {
	Kind               string          `json:"kind"`
	Trust              Trust           `json:"trust"`
	Receipt            json.RawMessage `json:"receipt"`
	Transaction        json.RawMessage `json:"transaction"`
	RenewalInfo        json.RawMessage `json:"renewal_info"`
	AppTransaction     json.RawMessage `json:"app_transaction"`
	Notification       json.RawMessage `json:"notification"`
	RealtimeRequest    json.RawMessage `json:"realtime_request"`
	TransactionReceipt json.RawMessage `json:"transaction_receipt"`
}

// Verdict decodes the JSON.
func (e *Evidence) Verdict() (*Verdict, error) {
	v := &Verdict{}
	if err := json.Unmarshal(e.VerdictJSON, v); err != nil {
		return nil, err
	}
	for _, member := range []struct {
		kind     string
		contents json.RawMessage
	}{
		{"receipt", v.Receipt}, {"notification", v.Notification}, {"transaction", v.Transaction},
		{"renewal_info", v.RenewalInfo}, {"app_transaction", v.AppTransaction},
		{"realtime_request", v.RealtimeRequest}, {"transaction_receipt", v.TransactionReceipt},
	} {
		if v.Kind == "" && member.contents != nil {
			v.Kind = member.kind
		}
	}
	return v, nil
}

// Entitlement is what one transaction gives access to.
type Entitlement struct {
	TransactionID         string     `json:"transaction_id"`
	OriginalTransactionID string     `json:"original_transaction_id"`
	ProductID             string     `json:"product_id"`
	Access                string     `json:"access"`
	Until                 *time.Time `json:"until"`
	Quantity              int64      `json:"quantity"`
	BundleID              string     `json:"bundle_id"`
	Environment           string     `json:"environment"`
}

// GivesAccess says whether the transaction gives access.
func (e Entitlement) GivesAccess() bool {
	return e.Access == "active" || e.Access == "owned" || e.Access == "consumable"
}

// Entitlements are what the evidence of one customer gives access to.
type Entitlements struct {
	At    time.Time     `json:"at"`
	Items []Entitlement `json:"items"`
	JSON  []byte        `json:"-"`
	// Err is the error of the first piece that was refused, or nil. Refused pieces give access to nothing; the others count.
	Err error `json:"-"`
}

// Answer is an answer of verifyReceipt.
type Answer struct {
	JSON []byte // the body of the response, which Apple sends with HTTP status 200
	Err  error  // the reason of an answer without a receipt, or nil
}

// Verifier verifies evidence. All goroutines may use one at the same time. Make it when the program starts.
type Verifier struct{ handle *C.asr_verifier }

// NewVerifier makes a verifier; it takes some milliseconds.
func NewVerifier(options Options) (*Verifier, error) {
	s := setter{options: C.asr_options_new()}
	defer C.asr_options_free(s.options)
	options.apply(&s)
	if s.wrong != "" {
		return nil, &VerificationError{Status: Usage, Code: "usage", Message: "the option " + s.wrong + " cannot be read"}
	}
	verifier := &Verifier{}
	_, err := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_verifier_new(s.options, &verifier.handle, text, length, e)
	})
	if err != nil {
		return nil, err
	}
	runtime.SetFinalizer(verifier, func(v *Verifier) { C.asr_verifier_free(v.handle) })
	return verifier, nil
}

// pointer returns the address of the first byte, or nil.
func pointer(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}

// call copies the JSON of a call, frees it, and makes an error of a status that is not ASR_VERIFIED.
func call(function func(**C.char, *C.size_t, *C.asr_error) C.asr_status) ([]byte, *VerificationError) {
	var text *C.char
	var length C.size_t
	var reason C.asr_error
	status := function(&text, &length, &reason)
	var bytes []byte
	if text != nil {
		bytes = append(bytes, unsafe.Slice((*byte)(unsafe.Pointer(text)), length)...)
		C.asr_free(unsafe.Pointer(text))
	}
	if status == C.ASR_VERIFIED {
		return bytes, nil
	}
	e := &VerificationError{
		Status: Status(status), Code: C.GoString(&reason.code[0]), Category: C.GoString(&reason.category[0]), VerdictJSON: bytes}
	type refusal struct {
		Error struct{ Message, Advice string }
	}
	var verdict struct {
		refusal
		Refused []refusal // of entitlements
	}
	if json.Unmarshal(bytes, &verdict) == nil {
		if len(verdict.Refused) > 0 {
			verdict.refusal = verdict.Refused[0]
		}
		e.Message, e.Advice = verdict.Error.Message, verdict.Error.Advice
	}
	return bytes, e
}

func (v *Verifier) verify(evidence []byte, form Form) ([]byte, *VerificationError) {
	defer runtime.KeepAlive(v)
	return call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_verify(v.handle, pointer(evidence), C.size_t(len(evidence)), C.uint32_t(form), text, length, e)
	})
}

// Verify verifies evidence of any kind. The error is a *VerificationError.
func (v *Verifier) Verify(evidence []byte, form Form) (*Evidence, error) {
	if bytes, err := v.verify(evidence, form); err != nil {
		return nil, err
	} else {
		return &Evidence{VerdictJSON: bytes}, nil
	}
}

// VerdictJSON returns the verdict on evidence that is verified or refused. With the form None it returns nil.
func (v *Verifier) VerdictJSON(evidence []byte, form Form) []byte {
	bytes, _ := v.verify(evidence, form)
	return bytes
}

// Accepts says whether evidence is verified: the fastest call, without JSON.
func (v *Verifier) Accepts(evidence []byte) bool {
	defer runtime.KeepAlive(v)
	return C.asr_verify(v.handle, pointer(evidence), C.size_t(len(evidence)), C.ASR_JSON_NONE, nil, nil, nil) == C.ASR_VERIFIED
}

// Entitlements verifies the evidence of one customer, and decides what it gives access to at a date; the zero Time is the
// present. The error is a *VerificationError if this host or the options are at fault.
func (v *Verifier) Entitlements(at time.Time, evidence ...[]byte) (*Entitlements, error) {
	defer runtime.KeepAlive(v)
	var joined []byte
	lengths := make([]C.size_t, len(evidence)+1)
	for i, piece := range evidence {
		joined = append(joined, piece...)
		lengths[i] = C.size_t(len(piece))
	}
	date := C.int64_t(C.ASR_DATE_NOW)
	if !at.IsZero() {
		date = C.int64_t(at.UnixMilli())
	}
	bytes, err := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_entitlements(
			v.handle, pointer(joined), &lengths[0], C.size_t(len(evidence)), date, text, length, e)
	})
	if err != nil && err.Status != Refused {
		return nil, err
	}
	entitlements := &Entitlements{JSON: bytes}
	if err != nil {
		entitlements.Err = err
	}
	return entitlements, json.Unmarshal(bytes, entitlements)
}

// Answer answers the body of a request as verifyReceipt does, from the receipt alone.
func (v *Verifier) Answer(body []byte, latestReceiptInfo bool) Answer {
	defer runtime.KeepAlive(v)
	flags := C.uint32_t(0)
	if latestReceiptInfo {
		flags = C.ASR_ANSWER_LATEST_RECEIPT_INFO
	}
	bytes, err := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_answer(v.handle, pointer(body), C.size_t(len(body)), flags, text, length, e)
	})
	if err != nil {
		return Answer{bytes, err}
	}
	return Answer{bytes, nil}
}

// CountsJSON returns the numbers of inputs verified and refused, for metrics.
func (v *Verifier) CountsJSON() []byte {
	defer runtime.KeepAlive(v)
	bytes, _ := call(func(text **C.char, length *C.size_t, _ *C.asr_error) C.asr_status {
		return C.asr_counts(v.handle, text, length)
	})
	return bytes
}

// DecodeUnverified returns the contents of evidence WITHOUT VERIFYING IT: anyone can have written them.
func DecodeUnverified(evidence []byte) ([]byte, error) {
	bytes, err := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_decode_unverified(pointer(evidence), C.size_t(len(evidence)), text, length, e)
	})
	if err != nil && err.Status != C.ASR_DECODED {
		return nil, err
	}
	return bytes, nil
}

// Version returns the version of the library.
func Version() string { return C.GoString(C.asr_version()) }
