package appstorereceipt

import (
	"bytes"
	"encoding/json"
	"time"
)

// newError reads the words of an error from the JSON.
func newError(o outcome) *VerificationError {
	type details struct{ Code, Message, Advice string }
	var verdict struct {
		Error   details
		Refused []struct{ Error details } // of entitlements, where the error is that of one of the pieces
	}
	e := &VerificationError{Status: o.status, Code: o.code, Category: o.category, Message: o.code, VerdictJSON: o.json}
	if json.Unmarshal(o.json, &verdict) != nil {
		return e
	}
	errors := []details{verdict.Error}
	for _, piece := range verdict.Refused {
		errors = append(errors, piece.Error)
	}
	for _, found := range errors {
		if found.Code == o.code {
			e.Message, e.Advice = found.Message, found.Advice
			break
		}
	}
	return e
}

// newEvidence reads the trust and the kind, which follows it. The contents can be large, and are read when they are
// asked for.
func newEvidence(text []byte) (*Evidence, error) {
	_, rest, _ := bytes.Cut(text, []byte(`"trust":`))
	e := &Evidence{VerdictJSON: text}
	decoder := json.NewDecoder(bytes.NewReader(rest))
	if err := decoder.Decode(&e.Trust); err != nil {
		return nil, err
	}
	kind, contents, _ := bytes.Cut(rest[decoder.InputOffset():], []byte(`":`))
	e.Kind, e.contents = string(bytes.TrimPrefix(kind, []byte(`,"`))), contents
	return e, nil
}

// date is nil in a year that RFC 3339 does not have.
type date struct{ time *time.Time }

func (d *date) UnmarshalText(text []byte) error {
	if read, err := time.Parse(time.RFC3339, string(text)); err == nil {
		d.time = &read
	}
	return nil
}
