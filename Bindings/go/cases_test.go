package appstorereceipt

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

type sharedCase struct {
	Name, Call, JSON  string
	Evidence          []string
	Date              int64
	Environment       Environment
	LatestReceiptInfo bool `json:"latest_receipt_info"`
	Options           struct {
		BundleID       []string `json:"bundle_id"`
		Environments   []string
		AppAppleID     string `json:"app_apple_id"`
		Roots          []string
		Issuers        []string `json:"transaction_receipt_issuers"`
		Testing        bool     `json:"storekit_testing"`
		Distrusted     []string
		MaximumAge     int64           `json:"maximum_age"`
		ValidationDate json.RawMessage `json:"validation_date"`
		AllowsRSA1024  bool            `json:"allows_rsa_1024"`
		StrictForm     bool            `json:"strict_form"`
		Clock          int64
		ProductTypes   []string `json:"product_types"`
	}
	JSONOf map[string]string `json:"json_of"`
	Expect struct {
		Status         Status
		Code, Category string
		JSON           *string
	}
}

func files(t testing.TB, names ...string) (contents [][]byte) {
	for _, name := range names {
		bytes, err := os.ReadFile(filepath.Join("../../TestVectors", name))
		if err != nil {
			t.Fatal(err)
		}
		contents = append(contents, bytes)
	}
	return contents
}

func (c *sharedCase) options(t testing.TB) []Option {
	o := c.Options
	options := []Option{Environments(o.Environments...)}
	if o.Roots != nil {
		options = append(options, Roots(files(t, o.Roots...)...))
	}
	if o.Issuers != nil {
		options = append(options, TransactionReceiptIssuers(files(t, o.Issuers...)...))
	}
	if o.Distrusted != nil {
		options = append(options, Distrusted(o.Distrusted...))
	}
	if o.BundleID != nil {
		options = append(options, BundleID(o.BundleID...))
	}
	if o.AppAppleID != "" {
		options = append(options, AppAppleID(o.AppAppleID))
	}
	if o.Testing {
		options = append(options, StoreKitTesting())
	}
	if o.MaximumAge != 0 {
		options = append(options, MaximumAge(time.Duration(o.MaximumAge)*time.Second))
	}
	if string(o.ValidationDate) == `"now"` {
		options = append(options, ValidationDate(Now))
	} else if o.ValidationDate != nil {
		var milliseconds int64
		if err := json.Unmarshal(o.ValidationDate, &milliseconds); err != nil {
			t.Fatal(err)
		}
		options = append(options, ValidationDate(time.UnixMilli(milliseconds)))
	}
	if o.AllowsRSA1024 {
		options = append(options, AllowsRSA1024())
	}
	if o.StrictForm {
		options = append(options, StrictForm())
	}
	if o.Clock != 0 {
		options = append(options, Clock(time.UnixMilli(o.Clock)))
	}
	if o.ProductTypes != nil {
		options = append(options, ProductTypes(o.ProductTypes...))
	}
	return options
}

// compare compares the decisions with the members of the JSON.
func (c *sharedCase) compare(t *testing.T, found *Entitlements) {
	var expected struct{ Items, Subscriptions []map[string]any }
	if err := json.Unmarshal(found.JSON, &expected); err != nil || len(found.Items) != len(expected.Items) {
		t.Fatal(err, len(found.Items), len(expected.Items))
	}
	if len(found.Subscriptions) != len(expected.Subscriptions) {
		t.Fatal(len(found.Subscriptions), len(expected.Subscriptions))
	}
	for i, subscription := range expected.Subscriptions {
		// The same members, with the dates as Go writes them.
		text, err := json.Marshal(found.Subscriptions[i])
		var own map[string]any
		if err == nil {
			err = json.Unmarshal(text, &own)
		}
		for name, value := range subscription {
			if value == nil && own[name] == "" {
				value = ""
			}
			if text, isText := value.(string); isText {
				if date, err := time.Parse(time.RFC3339, text); err == nil {
					value = date.Format(time.RFC3339Nano)
				} else if strings.HasPrefix(text, "+") { // a year of five digits
					value = nil
				}
			}
			if err != nil || !reflect.DeepEqual(own[name], value) {
				t.Error(err, name, own[name], value)
			}
		}
	}
	for i, item := range expected.Items {
		own := found.Items[i]
		decision := []any{own.ProductID, string(own.Access), own.GivesAccess, own.Grantable, string(own.Environment)}
		environment, _ := item["environment"].(string)
		if !reflect.DeepEqual(
			decision, []any{item["product_id"], item["access"], item["gives_access"], item["grantable"], environment}) {
			t.Error(decision, item)
		}
	}
}

func idJSON(id string) []byte {
	if id == "" {
		return []byte(`{"transaction_id":null}`)
	}
	return []byte(`{"transaction_id":"` + id + `"}`)
}

func (c *sharedCase) run(t *testing.T) (bytes []byte, status Status, err error) {
	verifier, err := NewVerifier(c.options(t)...)
	if err != nil || c.Call == "new" {
		return nil, 0, err
	}
	evidence := files(t, c.Evidence...)
	switch c.Call {
	case "verify":
		bytes, err := c.verify(t, verifier, evidence[0])
		return bytes, 0, err
	case "entitlements":
		entitlements, err := verifier.EntitlementsIn(c.Environment, time.UnixMilli(c.Date), evidence...)
		if err != nil {
			return nil, 0, err
		}
		c.compare(t, entitlements)
		return entitlements.JSON, 0, entitlements.Err
	case "answer":
		answer := verifier.Answer(evidence[0], c.LatestReceiptInfo)
		return answer.JSON, 0, answer.Err
	case "extract_transaction_id_from_app_receipt":
		id, err := verifier.ExtractTransactionIDFromAppReceipt(evidence[0])
		return idJSON(id), 0, err
	case "extract_transaction_id_from_transaction_receipt":
		id, err := verifier.ExtractTransactionIDFromTransactionReceipt(evidence[0])
		return idJSON(id), 0, err
	case "decode":
		bytes, err := DecodeUnverified(evidence[0])
		return bytes, 5, err
	}
	t.Fatalf("unknown call %s", c.Call)
	return
}

func (c *sharedCase) verify(t *testing.T, verifier *Verifier, evidence []byte) ([]byte, error) {
	verified, err := verifier.Verify(evidence)
	if err != nil {
		return nil, err
	}
	forms := map[string][]byte{"full": verifier.VerdictJSON(evidence, Full), "brief": verifier.VerdictJSON(evidence, Brief)}
	var brief struct{ Kind string }
	var whole map[string]any
	var contents any
	if err := json.Unmarshal(forms["brief"], &brief); err != nil || verified.Kind != brief.Kind {
		t.Error(verified.Kind, brief.Kind, err)
	}
	if verified.Verdict(&whole) != nil || verified.Contents(&contents) != nil || !reflect.DeepEqual(whole[verified.Kind], contents) {
		t.Error(contents)
	}
	if string(verified.VerdictJSON) != string(forms["full"]) || verified.Trust.SignerExpires.IsZero() {
		t.Error(verified)
	}
	return forms[c.JSON], nil
}

func TestSharedCases(t *testing.T) {
	bytes, err := os.ReadFile("../cases/cases.json")
	if err != nil {
		t.Fatal(err)
	}
	var cases []sharedCase
	if err := json.Unmarshal(bytes, &cases); err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for i := range cases {
		c := &cases[i]
		t.Run(c.Name, func(t *testing.T) {
			bytes, status, err := c.run(t)
			var code, category string
			var e *VerificationError
			if errors.As(err, &e) {
				status, code, category, bytes = e.Status, e.Code, e.Category, e.VerdictJSON
				if c.JSON == "none" {
					bytes = nil
				}
			} else if err != nil {
				t.Fatal(err)
			}
			x := c.Expect
			if text, differs := c.JSONOf["go"]; differs {
				x.JSON = &text
			}
			if status != x.Status || code != x.Code || category != x.Category {
				t.Errorf("%d %s %s, expected %d %s %s", status, code, category, x.Status, x.Code, x.Category)
			}
			if (bytes == nil) != (x.JSON == nil) || x.JSON != nil && string(bytes) != *x.JSON {
				t.Errorf("found %s", bytes)
			}
		})
	}
	t.Logf("go: %d cases", len(cases))
}

func testVerifier(t testing.TB) *Verifier {
	verifier, err := NewVerifier(
		BundleID("com.example.app"), Roots(files(t, "authority/root.der")...), Clock(time.UnixMilli(1750420800000)))
	if err != nil {
		t.Fatal(err)
	}
	return verifier
}

func TestEvidenceHasItsKindTrustAndContents(t *testing.T) {
	evidence, err := testVerifier(t).Verify(files(t, "receipts/1-purchase.der")[0])
	if err != nil {
		t.Fatal(err)
	}
	var contents struct {
		BundleID string `json:"bundle_id"`
	}
	err = evidence.Contents(&contents)
	if err != nil || evidence.Kind != "receipt" || evidence.Trust.ValidatedAt.Unix() != 1749988800 || contents.BundleID != "com.example.app" {
		t.Errorf("%+v %v %v", evidence, contents, err)
	}
}

func TestARefusedPieceIsExplained(t *testing.T) {
	entitlements, err := testVerifier(t).Entitlements(Now, files(t, "receipts/1-purchase.der", "asn1/empty.der")...)
	if err != nil || len(entitlements.Items) != 1 {
		t.Fatal(entitlements, err)
	}
	var e *VerificationError
	if !errors.As(entitlements.Err, &e) || e.Message != "the input is empty (at byte 0 of the text)" || e.Advice == "" {
		t.Error(entitlements.Err)
	}
	refused := Refusal{1, "empty-input", "client", "the input is empty (at byte 0 of the text)"}
	if len(entitlements.Refused) != 1 || entitlements.Refused[0] != refused {
		t.Error(entitlements.Refused)
	}
}

// connection is a variable with a buffer and a pointer. cgo passes the buffer to C, and refuses the whole.
type connection struct {
	buffer [8192]byte
	next   *connection
}

func TestBytesMayBePartOfMemoryWithPointers(t *testing.T) {
	parts := make([][]byte, 2)
	for i, file := range files(t, "receipts/1-purchase.der", "authority/root.der") {
		c := &connection{next: &connection{}}
		parts[i] = c.buffer[:copy(c.buffer[:], file)]
	}
	evidence, root := parts[0], parts[1]
	verifier, err := NewVerifier(Roots(root))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := verifier.Verify(evidence); err != nil || !verifier.Accepts(evidence) {
		t.Error(err)
	}
	if found, err := verifier.Entitlements(Now, evidence); err != nil || found.Err != nil {
		t.Error(found, err)
	}
	if _, err := DecodeUnverified(evidence); err != nil || verifier.VerdictJSON(evidence[:0], Full) == nil {
		t.Error(err)
	}
	body := &connection{next: &connection{}}
	n := copy(body.buffer[:], `{"receipt-data":"`+base64.StdEncoding.EncodeToString(evidence)+`"}`)
	if answer := verifier.Answer(body.buffer[:n], false); answer.Err != nil {
		t.Error(answer.Err)
	}
}

func TestGoroutinesShareAVerifier(t *testing.T) {
	verifier, receipt := testVerifier(t), files(t, "receipts/1-purchase.der")[0]
	var group sync.WaitGroup
	for i := 0; i < 200; i++ {
		group.Add(1)
		go func() {
			defer group.Done()
			if !verifier.Accepts(receipt) {
				t.Error("a receipt is not accepted")
			}
		}()
	}
	group.Wait()
	if counts, err := verifier.Counts(); err != nil || counts.Verified != 200 || counts.ChainCache.Hits == 0 {
		t.Error(counts, err)
	}
}

// badSettings returns the shared table's rows that Go can pass, those without a nil text, and rows that only Go can.
func badSettings(t *testing.T) (rows []badSetting) {
	bytes, err := os.ReadFile("../cases/settings.json")
	if err != nil {
		t.Fatal(err)
	}
	var table []struct {
		Option string
		Value  any
		Expect struct {
			Status Status
			Code   string
		}
	}
	if err := json.Unmarshal(bytes, &table); err != nil || len(table) == 0 {
		t.Fatal("no settings", err)
	}
	texts := map[string]func(...string) Option{
		"bundle_id": BundleID, "environments": Environments, "distrusted": Distrusted, "product_types": ProductTypes,
		"app_apple_id": func(ids ...string) Option { return AppAppleID(ids[0]) }}
	files := map[string]func(...[]byte) Option{"roots": Roots, "transaction_receipt_issuers": TransactionReceiptIssuers}
	for _, row := range table {
		values, isList := row.Value.([]any)
		if !isList {
			values = []any{row.Value}
		}
		var words []string
		var contents [][]byte
		isSayable := true
		for _, value := range values {
			word, isText := value.(string)
			isSayable = isSayable && isText
			words, contents = append(words, word), append(contents, []byte(word))
		}
		var option Option
		if seconds, isNumber := row.Value.(float64); isNumber {
			option = MaximumAge(time.Duration(seconds) * time.Second)
		} else if !isSayable {
			continue
		} else if set, isFile := files[row.Option]; isFile {
			option = set(contents...)
		} else {
			option = texts[row.Option](words...)
		}
		rows = append(rows, badSetting{names[row.Option], option, row.Expect.Status, row.Expect.Code})
	}
	return append(rows,
		badSetting{"Roots", Roots(nil), Usage, "usage"}, badSetting{"Roots", Roots([][]byte{nil}...), Usage, "usage"},
		badSetting{"MaximumAge", MaximumAge(-1), Usage, "usage"}, badSetting{"MaximumAge", MaximumAge(-999 * time.Millisecond), Usage, "usage"},
		badSetting{"Clock", Clock(time.Time{}), Usage, "usage"}, badSetting{"BundleID", BundleID("\xff"), Usage, "usage"},
		badSetting{"nil", nil, Usage, "usage"})
}

type badSetting struct {
	name   string
	option Option
	status Status
	code   string
}

var names = map[string]string{
	"bundle_id": "BundleID", "environments": "Environments", "app_apple_id": "AppAppleID", "roots": "Roots",
	"transaction_receipt_issuers": "TransactionReceiptIssuers", "distrusted": "Distrusted", "product_types": "ProductTypes", "maximum_age": "MaximumAge"}

func TestNoBadSettingMakesAVerifier(t *testing.T) {
	rows := badSettings(t)
	for i, row := range rows {
		_, err := NewVerifier(row.option)
		var e *VerificationError
		if !errors.As(err, &e) || e.Status != row.status || e.Code != row.code || e.HTTPStatus() != 500 {
			t.Errorf("%d, %s: %v", i, row.name, err)
		} else if e.Code == "usage" && e.Message != "the option "+row.name+" cannot be read" {
			t.Error(e.Message)
		}
	}
	if len(rows) < 40 {
		t.Error(len(rows))
	}
}

func TestCopiesShareAVerifierThatIsFreedOnce(t *testing.T) {
	receipt := files(t, "receipts/1-purchase.der")[0]
	for i := 0; i < 20; i++ {
		copied := *testVerifier(t)
		again := copied
		for j := 0; j < 3; j++ { // The finalizer of what is no longer reachable runs in the second.
			runtime.GC()
			time.Sleep(time.Millisecond)
		}
		if !copied.Accepts(receipt) || !again.Accepts(receipt) {
			t.Fatal("a copy does not verify")
		}
	}
}

func TestAVerifierThatWasNotMadeVerifiesNothing(t *testing.T) {
	receipt := files(t, "receipts/1-purchase.der")[0]
	for _, verifier := range []*Verifier{nil, {}} {
		var e *VerificationError
		if _, err := verifier.Verify(receipt); !errors.As(err, &e) || e.Status != Usage || verifier.Accepts(receipt) {
			t.Error(err)
		}
		if _, err := verifier.Entitlements(Now, receipt); !errors.As(err, &e) || e.Status != Usage {
			t.Error(err)
		}
		if verifier.VerdictJSON(receipt, Full) != nil || verifier.Answer(receipt, false).Err == nil {
			t.Error("a verdict")
		}
		if _, err := verifier.Counts(); err == nil {
			t.Error("counts")
		}
	}
}

func TestALimitOnPieces(t *testing.T) {
	verifier := testVerifier(t)
	if found, err := verifier.Entitlements(Now, make([][]byte, 1000)...); err != nil || len(found.Refused) != 1000 {
		t.Error(err)
	}
	var e *VerificationError
	found, err := verifier.Entitlements(Now, make([][]byte, 1001)...)
	if found != nil || !errors.As(err, &e) || e.Code != "too-much-evidence" || e.HTTPStatus() != 400 {
		t.Error(found, err)
	}
}

// The evidence and the root of ./benchmark, or a receipt of the vectors.
func benchmark(b *testing.B, call func(*Verifier, []byte)) {
	verifier, evidence := testVerifier(b), files(b, "receipts/1-purchase.der")[0]
	if name := os.Getenv("EVIDENCE"); name != "" {
		root, err := os.ReadFile(os.Getenv("ROOT"))
		if err != nil {
			b.Fatal(err)
		}
		if evidence, err = os.ReadFile(name); err != nil {
			b.Fatal(err)
		}
		verifier, err = NewVerifier(Environments("production", "sandbox"), Roots(root))
		if err != nil {
			b.Fatal(err)
		}
	}
	if !verifier.Accepts(evidence) {
		b.Fatal(string(verifier.VerdictJSON(evidence, Full)))
	}
	b.ResetTimer()
	for i := 0; i < b.N; i++ {
		call(verifier, evidence)
	}
}

func BenchmarkAccepts(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) { v.Accepts(evidence) })
}

func BenchmarkVerdictJSON(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) { v.VerdictJSON(evidence, Full) })
}

func BenchmarkEvidence(b *testing.B) {
	benchmark(b, func(v *Verifier, evidence []byte) {
		verified, err := v.Verify(evidence)
		if err == nil {
			var contents map[string]any
			err = verified.Contents(&contents)
		}
		if err != nil {
			b.Fatal(err)
		}
	})
}
