// Package appstorereceipt verifies what Apple signs for the App Store, offline: receipts, StoreKit 2 transactions, server
// notifications, and transaction receipts of iOS 3 to 6. It calls libappstorereceipt.
package appstorereceipt

// #include <stdlib.h>
// #include <appstorereceipt.h>
import "C"

import (
	"encoding/json"
	"runtime"
	"time"
	"unsafe"
)

// Verifier verifies evidence. All goroutines may use one at the same time. Make it when the program starts with NewVerifier: one that was
// not made so verifies nothing. Copies share it.
type Verifier struct{ shared *owner }

// owner frees the verifier of the library when no Verifier has it any more.
type owner struct{ handle *C.asr_verifier }

// owner returns what the calls keep alive while they use its handle.
func (v *Verifier) owner() *owner {
	if v == nil || v.shared == nil {
		return &owner{}
	}
	return v.shared
}

// NewVerifier makes a verifier; it takes some milliseconds. The error is a *VerificationError.
func NewVerifier(settings ...Option) (*Verifier, error) {
	o := options{handle: C.asr_options_new()}
	defer C.asr_options_free(o.handle)
	language := C.CString("go")
	defer C.free(unsafe.Pointer(language))
	o.check("binding", C.asr_options_set_binding(o.handle, language))
	for _, set := range settings {
		if set == nil {
			o.check("nil", C.ASR_USAGE)
			continue
		}
		set(&o)
	}
	if o.wrong != "" {
		return nil, &VerificationError{
			Status: Usage, Code: "usage", Category: "host", Message: "the option " + o.wrong + " cannot be read"}
	}
	shared := &owner{}
	if err := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_verifier_new(o.handle, &shared.handle, text, length, e)
	}).err(); err != nil {
		return nil, err
	}
	runtime.SetFinalizer(shared, func(o *owner) { C.asr_verifier_free(o.handle) })
	return &Verifier{shared}, nil
}

// pointer returns the address of the first byte, or nil.
func pointer(bytes []byte) unsafe.Pointer {
	if len(bytes) == 0 {
		return nil
	}
	return unsafe.Pointer(&bytes[0])
}

// outcome is what a call returned.
type outcome struct {
	status         Status
	json           []byte
	code, category string
}

// call calls a function whose last parameters are json, json_length and error.
func call(function func(**C.char, *C.size_t, *C.asr_error) C.asr_status) outcome {
	var text *C.char
	var length C.size_t
	var reason C.asr_error
	o := outcome{status: Status(function(&text, &length, &reason))}
	o.code, o.category = C.GoString(&reason.code[0]), C.GoString(&reason.category[0])
	if text != nil {
		o.json = append(o.json, unsafe.Slice((*byte)(unsafe.Pointer(text)), length)...)
		C.asr_free(unsafe.Pointer(text))
	}
	return o
}

// err is the reason of the outcome, or nil.
func (o outcome) err() error {
	if o.status == C.ASR_VERIFIED || o.status == C.ASR_DECODED {
		return nil
	}
	return newError(o)
}

func (v *Verifier) verify(evidence []byte, form Form) outcome {
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	return call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_verify(shared.handle, pointer(evidence), C.size_t(len(evidence)), C.uint32_t(form), text, length, e)
	})
}

// Verify verifies evidence of any kind. The error is a *VerificationError.
func (v *Verifier) Verify(evidence []byte) (*Evidence, error) {
	o := v.verify(evidence, Full)
	if err := o.err(); err != nil {
		return nil, err
	}
	return newEvidence(o.json)
}

// VerdictJSON returns the verdict on evidence that is verified or refused; nil if there is no memory for it.
func (v *Verifier) VerdictJSON(evidence []byte, form Form) []byte {
	return v.verify(evidence, form).json
}

// Accepts says whether evidence is verified: the fastest call, without JSON.
func (v *Verifier) Accepts(evidence []byte) bool {
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	return C.asr_verify(shared.handle, pointer(evidence), C.size_t(len(evidence)), C.ASR_JSON_NONE, nil, nil, nil) == C.ASR_VERIFIED
}

// Entitlements decides what the evidence of one customer, at most 1,000 pieces, gives access to at a date, or Now. The error is a
// *VerificationError if this host or the options are at fault, or if there are too many pieces.
func (v *Verifier) Entitlements(at time.Time, evidence ...[]byte) (*Entitlements, error) {
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	var joined []byte
	lengths := make([]C.size_t, len(evidence)+1)
	for i, piece := range evidence {
		joined = append(joined, piece...)
		lengths[i] = C.size_t(len(piece))
	}
	o := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_entitlements(
			shared.handle, pointer(joined), &lengths[0], C.size_t(len(evidence)), milliseconds(at), text, length, e)
	})
	if o.status > Refused || o.json == nil { // nil with too many pieces, or without memory
		return nil, o.err()
	}
	entitlements := &Entitlements{JSON: o.json, Err: o.err()}
	return entitlements, json.Unmarshal(o.json, entitlements)
}

// Answer answers the body of a request as verifyReceipt does, from the receipt alone.
func (v *Verifier) Answer(body []byte, latestReceiptInfo bool) Answer {
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	flags := C.uint32_t(0)
	if latestReceiptInfo {
		flags = C.ASR_ANSWER_LATEST_RECEIPT_INFO
	}
	o := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_answer(shared.handle, pointer(body), C.size_t(len(body)), flags, text, length, e)
	})
	return Answer{o.json, o.err()}
}

// Counts returns the numbers of inputs verified and refused, for metrics.
func (v *Verifier) Counts() (counts Counts, err error) {
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	o := call(func(text **C.char, length *C.size_t, _ *C.asr_error) C.asr_status {
		return C.asr_counts(shared.handle, text, length)
	})
	err = json.Unmarshal(o.json, &counts)
	return counts, err
}

// DecodeUnverified returns the contents of evidence WITHOUT VERIFYING IT: anyone can have written them.
func DecodeUnverified(evidence []byte) ([]byte, error) {
	o := call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_decode_unverified(pointer(evidence), C.size_t(len(evidence)), text, length, e)
	})
	if err := o.err(); err != nil {
		return nil, err
	}
	return o.json, nil
}

// Version returns the version of the library.
func Version() string { return C.GoString(C.asr_version()) }
