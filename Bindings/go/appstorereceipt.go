// Package appstorereceipt verifies what Apple signs for the App Store, offline: receipts, StoreKit 2 transactions,
// server notifications, and transaction receipts of iOS 3 to 6. It calls libappstorereceipt.
package appstorereceipt

// #include <stdlib.h>
// #include <appstorereceipt.h>
import "C"

import (
	"runtime"
	"unsafe"
)

// Verifier verifies evidence. All goroutines may use one at the same time. Make it with NewVerifier when the program
// starts: a zero Verifier verifies nothing. Copies share it.
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

// addressable returns the bytes, or one other byte if there are none, so that calls of C can have the argument
// &addressable(bytes)[0]. In this form, cgo looks for pointers only in the bytes; otherwise, in the whole variable
// that holds them, such as a connection with its buffer.
func addressable(bytes []byte) []byte {
	if len(bytes) == 0 {
		return []byte{0}
	}
	return bytes
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
		return C.asr_verify(shared.handle, unsafe.Pointer(&addressable(evidence)[0]), C.size_t(len(evidence)), C.uint32_t(form), text, length, e)
	})
}

// The numbers of environments: ASR_ENVIRONMENT_…. The library refuses an environment without a number.
var environments = map[Environment]C.uint32_t{
	"": 0, EnvironmentProduction: 1, EnvironmentSandbox: 2, EnvironmentXcode: 3, EnvironmentLocalTesting: 4,
}

// decide takes all pieces of evidence, one directly after the other.
func (v *Verifier) decide(date C.int64_t, environment Environment, evidence [][]byte) outcome {
	place, isKnown := environments[environment]
	if !isKnown {
		place = 1 << 31
	}
	shared := v.owner()
	defer runtime.KeepAlive(shared)
	var joined []byte
	lengths := make([]C.size_t, len(evidence)+1)
	for i, piece := range evidence {
		joined = append(joined, piece...)
		lengths[i] = C.size_t(len(piece))
	}
	return call(func(text **C.char, length *C.size_t, e *C.asr_error) C.asr_status {
		return C.asr_entitlements(shared.handle, unsafe.Pointer(&addressable(joined)[0]), &lengths[0], C.size_t(len(evidence)), date, place, text, length, e)
	})
}
