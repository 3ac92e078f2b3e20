package webhook

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	kjson "sigs.k8s.io/json"
)

// Any body gets a client error with a short fixed text, or a valid answer.
func FuzzAdmit(f *testing.F) {
	for _, seed := range []string{
		"", "null", "[]", `{`, `{` + head + `}`, strings.Repeat(`{"request":`, 100), "\xff\xfe", `{"request":{"uid":"` + "\x00" + `"}}`,
		reviewOf(f, admissionv1.Create, 3), reviewOf(f, admissionv1.Update, 3), reviewOf(f, admissionv1.Delete, 3),
		`{` + head + `,"request":{"uid":"u","operation":"UPDATE","object":null,"oldObject":1e999,"options":{},"dryRun":true}}`,
		`{` + head + `,"request":{"uid":"\ud800","operation":"CREATE","userInfo":{"extra":{"a":["b"]}}}}`,
	} {
		f.Add([]byte(seed))
	}
	h := newServer(f, ServerOptions{MaxBody: 1 << 20}).Handler()
	f.Fuzz(func(t *testing.T, body []byte) {
		w := post(h, "/admit", bytes.NewReader(body))
		switch {
		case w.Code == http.StatusOK:
			if response := responseOf(t, w.Body.Bytes()); response.UID == "" {
				t.Error("the answer has no uid")
			}
		case w.Code < 400 || w.Code > 499 || w.Body.Len() > 100:
			t.Errorf("%d %q", w.Code, w.Body)
		}
	})
}

func TestDecodedObjectsDoNotShareTheBody(t *testing.T) {
	t.Parallel()
	body := []byte(reviewOf(t, admissionv1.Update, 10))
	request, refused := decodeReview(body)
	if refused != nil {
		t.Fatal(refused.text)
	}
	want := bytes.Clone(request.Object.Raw)
	clear(body)
	if !bytes.Equal(request.Object.Raw, want) {
		t.Error("an admitter can't keep the object")
	}
}

func BenchmarkAdmit(b *testing.B) {
	h := newServer(b, ServerOptions{}).Handler()
	each(b, func(b *testing.B, body string) {
		if w := post(h, "/admit", strings.NewReader(body)); w.Code != http.StatusOK {
			b.Fatal(w.Code, w.Body)
		}
	})
}

// BenchmarkDecode compares the decoder in use with that of the standard library.
func BenchmarkDecode(b *testing.B) {
	for name, unmarshal := range map[string]func([]byte, any) error{
		"kubernetes": kjson.UnmarshalCaseSensitivePreserveInts, "standard": json.Unmarshal,
	} {
		b.Run(name, func(b *testing.B) {
			each(b, func(b *testing.B, body string) {
				review := admissionv1.AdmissionReview{}
				if err := unmarshal([]byte(body), &review); err != nil {
					b.Fatal(err)
				}
			})
		})
	}
}

func BenchmarkEncode(b *testing.B) {
	request := &admissionv1.AdmissionRequest{UID: "0e2b5c0a-5d0e-4d2c-9a43-1f7d6f2b3c11", Operation: admissionv1.Create}
	response := &admissionv1.AdmissionResponse{Allowed: true, Patch: []byte(
		`[{"op":"add","path":"/metadata/annotations","value":{"dogear.dev/state":"Pending","dogear.dev/progress":"` + strings.Repeat("x", 300) + `"}}]`)}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := encodeReview(request, response); err != nil {
			b.Fatal(err)
		}
	}
}

// each runs a benchmark on updates of objects of some sizes.
func each(b *testing.B, run func(*testing.B, string)) {
	for name, body := range map[string]string{
		"3KiB":  strings.ReplaceAll(realistic, "SIZE", strings.Repeat("x", 1<<10)),
		"30KiB": strings.ReplaceAll(realistic, "SIZE", strings.Repeat("x", 27<<10)),
		"2MiB":  reviewOf(b, admissionv1.Update, 1<<20),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				run(b, body)
			}
		})
	}
}

// realistic is what an API server sends for an update of a Certificate.
const realistic = `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"0e2b5c0a-5d0e-4d2c-9a43-1f7d6f2b3c11",` +
	`"kind":{"group":"cert-manager.io","version":"v1","kind":"Certificate"},"resource":{"group":"cert-manager.io","version":"v1","resource":"certificates"},` +
	`"requestKind":{"group":"cert-manager.io","version":"v1","kind":"Certificate"},"requestResource":{"group":"cert-manager.io","version":"v1","resource":"certificates"},` +
	`"name":"web","namespace":"shop","operation":"UPDATE","userInfo":{"username":"system:serviceaccount:ci:deployer","uid":"8c7c1f0e","groups":["system:serviceaccounts","system:authenticated"],` +
	`"extra":{"authentication.kubernetes.io/credential-id":["JTI=1"]}},"object":` + certificate + `,"oldObject":` + certificate + `,"dryRun":false,` +
	`"options":{"kind":"UpdateOptions","apiVersion":"meta.k8s.io/v1","fieldManager":"kubectl-edit","fieldValidation":"Strict"}}}`

const certificate = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate","metadata":{"name":"web","namespace":"shop","uid":"5c1","resourceVersion":"42","generation":3,` +
	`"annotations":{"note":"SIZE"},"managedFields":[{"manager":"kubectl","operation":"Update","apiVersion":"cert-manager.io/v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{"f:dnsNames":{},"f:secretName":{}}}}]},` +
	`"spec":{"dnsNames":["a.example.com","b.example.com"],"secretName":"web-tls","issuerRef":{"name":"ca","kind":"Issuer"}},"status":{"conditions":[{"type":"Ready","status":"True"}]}}`
