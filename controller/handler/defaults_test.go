package handler_test

import (
	"errors"
	"reflect"
	"testing"

	cmapi "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/dogear-dev/dogear/controller/handler"
)

// admitted returns the object with defaults, and checks that it was given only.
func admitted[T client.Object](t *testing.T, text string, fn func(T)) (map[string]any, error) {
	t.Helper()
	var b book
	handler.Defaults(&b, handler.Spec{ID: "d", On: handler.Create}, func(o T, _ handler.Admission) error {
		fn(o)
		return nil
	})
	u := parse(t, text)
	before := u.DeepCopy()
	got, err := b.all[0].Defaults(u, handler.Admission{})
	if !reflect.DeepEqual(u, before) {
		t.Errorf("the given object was changed:\n%v", u)
	}
	if err != nil {
		return nil, err
	}
	return got.Object, nil
}

func wantSame(t *testing.T, got map[string]any, err error, want string) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	if w := parse(t, want).Object; !reflect.DeepEqual(got, w) {
		t.Errorf("got  %v\nwant %v", got, w)
	}
}

const head = `{"apiVersion":"cert-manager.io/v1","kind":"Certificate",`

func TestDefaultsFillOnlyWhatIsAbsent(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		object string
		set    func(c *cmapi.Certificate)
		want   string
	}{
		"nothing set, nothing leaks in": {`"metadata":{"name":"web"}}`, func(*cmapi.Certificate) {}, `"metadata":{"name":"web"}}`},
		"a required field whose zero value the type makes up": {
			`"metadata":{"name":"web"},"spec":{"issuerRef":{"kind":"Issuer"}}}`,
			func(c *cmapi.Certificate) { c.Spec.SecretName, c.Spec.IssuerRef.Name = c.Name+"-tls", "ca" },
			`"metadata":{"name":"web"},"spec":{"secretName":"web-tls","issuerRef":{"kind":"Issuer","name":"ca"}}}`,
		},
		"no spec at all": {
			`"metadata":{"name":"web"}}`,
			func(c *cmapi.Certificate) { c.Spec.SecretName = "web-tls" },
			`"metadata":{"name":"web"},"spec":{"secretName":"web-tls"}}`,
		},
		"null is absent": {
			`"spec":{"secretName":null,"privateKey":null}}`,
			func(c *cmapi.Certificate) {
				c.Spec.SecretName, c.Spec.PrivateKey = "x", &cmapi.CertificatePrivateKey{Size: 256}
			},
			`"spec":{"secretName":"x","privateKey":{"size":256}}}`,
		},
		"what the user wrote stays": {
			`"spec":{"secretName":"mine","duration":"1h"}}`,
			func(c *cmapi.Certificate) { c.Spec.SecretName, c.Spec.Duration = "yours", nil },
			`"spec":{"secretName":"mine","duration":"1h"}}`,
		},
		"also empty, zero and false": {
			`"spec":{"secretName":"","isCA":false,"commonName":"","dnsNames":[]}}`,
			func(c *cmapi.Certificate) {
				c.Spec.SecretName, c.Spec.IsCA, c.Spec.CommonName, c.Spec.DNSNames = "x", true, "x", []string{"x"}
			},
			`"spec":{"secretName":"","isCA":false,"commonName":"","dnsNames":[]}}`,
		},
		"maps merge": {
			`"spec":{"privateKey":{"algorithm":"RSA"}}}`,
			func(c *cmapi.Certificate) {
				c.Spec.PrivateKey.RotationPolicy, c.Spec.PrivateKey.Algorithm = cmapi.RotationPolicyAlways, cmapi.ECDSAKeyAlgorithm
			},
			`"spec":{"privateKey":{"algorithm":"RSA","rotationPolicy":"Always"}}}`,
		},
		"also where the type's part is replaced": {
			`"spec":{"privateKey":{"algorithm":"RSA"}}}`,
			func(c *cmapi.Certificate) {
				c.Spec.PrivateKey = &cmapi.CertificatePrivateKey{RotationPolicy: cmapi.RotationPolicyAlways}
			},
			`"spec":{"privateKey":{"algorithm":"RSA","rotationPolicy":"Always"}}}`,
		},
		"lists are whole": {
			`"spec":{"dnsNames":["a"]}}`,
			func(c *cmapi.Certificate) {
				c.Spec.DNSNames, c.Spec.Usages = append(c.Spec.DNSNames, "b"), []cmapi.KeyUsage{cmapi.UsageServerAuth}
			},
			`"spec":{"dnsNames":["a"],"usages":["server auth"]}}`,
		},
		"a false that the type would leave out stays out": {
			`"spec":{}}`, func(c *cmapi.Certificate) { c.Spec.IsCA = false }, `"spec":{}}`,
		},
		"a false behind a pointer counts": {
			`"spec":{}}`, func(c *cmapi.Certificate) { c.Spec.EncodeUsagesInRequest = new(bool) }, `"spec":{"encodeUsagesInRequest":false}}`,
		},
		"an empty map that is set": {
			`"spec":{}}`, func(c *cmapi.Certificate) { c.Spec.PrivateKey = &cmapi.CertificatePrivateKey{} }, `"spec":{"privateKey":{}}}`,
		},
		"labels and annotations": {
			`"metadata":{"name":"web","labels":{"app":"mine"}}}`,
			func(c *cmapi.Certificate) {
				c.Labels["app"], c.Labels["team"] = "yours", "a"
				c.Annotations = map[string]string{"example.com/size": "1"}
			},
			`"metadata":{"name":"web","labels":{"app":"mine","team":"a"},"annotations":{"example.com/size":"1"}}}`,
		},
		"nothing else of metadata, no status, no state of ours": {
			`"metadata":{"generateName":"web-"}}`,
			func(c *cmapi.Certificate) {
				c.Name, c.UID, c.Finalizers, c.Kind = "web", "u", []string{"x/y"}, "Other"
				c.Annotations = map[string]string{"dogear.dev/paused": "true"}
				c.Status.Revision = new(int)
				c.Spec.IssuerRef = cmmeta.IssuerReference{}
			},
			`"metadata":{"generateName":"web-"}}`,
		},
		"fields that the type does not know": {
			`"spec":{"secretName":"mine","future":{"a":1}}}`,
			func(c *cmapi.Certificate) { c.Spec.CommonName = "x" },
			`"spec":{"secretName":"mine","future":{"a":1},"commonName":"x"}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := admitted(t, head+test.object, test.set)
			wantSame(t, got, err, head+test.want)
		})
	}
}

func TestDefaultsOfADeploymentLeakNoZeroValues(t *testing.T) {
	t.Parallel()
	const apps = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"}`
	got, err := admitted(t, apps+`}`, func(d *appsv1.Deployment) { d.Spec.Template.Labels = map[string]string{"app": "web"} })
	wantSame(t, got, err, apps+`,"spec":{"template":{"metadata":{"labels":{"app":"web"}}}}}`)
}

func TestDefaultsOfAService(t *testing.T) {
	t.Parallel()
	policy := corev1.IPFamilyPolicyPreferDualStack
	got, err := admitted(t, service, func(s *corev1.Service) {
		s.Spec.IPFamilyPolicy = &policy
		s.Spec.Ports[0].Name = "x"
	})
	want := parse(t, service)
	_ = unstructured.SetNestedField(want.Object, "PreferDualStack", "spec", "ipFamilyPolicy")
	if err != nil || !reflect.DeepEqual(got, want.Object) {
		t.Errorf("got %v (%v): want one field more, and the list of ports as it was", got, err)
	}
}

func TestDefaultsOfUnstructuredAndMetadata(t *testing.T) {
	t.Parallel()
	got, err := admitted(t, head+`"spec":{"a":{"b":1}}}`, func(u *unstructured.Unstructured) {
		u.Object["spec"] = object{"a": object{"b": int64(2), "c": int64(3)}, "d": nil}
	})
	wantSame(t, got, err, head+`"spec":{"a":{"b":1,"c":3}}}`)
	got, err = admitted(t, head+`"spec":{"a":1}}`, func(m *metav1.PartialObjectMetadata) { m.Labels = map[string]string{"a": "b"} })
	wantSame(t, got, err, head+`"spec":{"a":1},"metadata":{"labels":{"a":"b"}}}`)
}

func TestDefaultsFailWithTheirError(t *testing.T) {
	t.Parallel()
	var b book
	handler.Defaults(&b, handler.Spec{ID: "d"}, func(*cmapi.Certificate, handler.Admission) error { return errPlain })
	if got, err := b.all[0].Defaults(parse(t, certificate), handler.Admission{}); got != nil || !errors.Is(err, errPlain) {
		t.Errorf("got %v, %v", got, err)
	}
	if _, err := admitted(t, head+`"spec":{"dnsNames":1}}`, func(*cmapi.Certificate) {}); !handler.IsPermanent(err) {
		t.Errorf("got %v: want the object not to decode", err)
	}
}

func TestDefaultsAreToldOfTheRequest(t *testing.T) {
	t.Parallel()
	want := handler.Admission{
		Operation: handler.Update, User: "jane", UserUID: "u1", Groups: []string{"devs"}, Extra: map[string][]string{"a": {"b"}}, DryRun: true,
	}
	var b book
	handler.Defaults(&b, handler.Spec{ID: "d"}, func(_ *cmapi.Certificate, got handler.Admission) error {
		if !reflect.DeepEqual(got, want) {
			t.Errorf("got %+v: want %+v", got, want)
		}
		return nil
	})
	if _, err := b.all[0].Defaults(parse(t, certificate), want); err != nil {
		t.Error(err)
	}
}

func TestFillAbsentKeepsNullAndCopies(t *testing.T) {
	t.Parallel()
	u := parse(t, head+`"metadata":{"name":"web"},"spec":{"a":null,"b":{"c":null,"d":1},"e":"x","f":[]}}`)
	values := object{
		"apiVersion": "v2", "kind": "Other", "status": object{"a": int64(1)},
		"metadata": object{"name": "x", "labels": object{"l": "v"}, "annotations": object{"dogear.dev/paused": "true"}},
		"spec":     object{"a": object{"x": int64(1)}, "b": object{"c": int64(1), "d": int64(2), "g": []any{"i"}}, "e": object{"x": int64(1)}, "f": []any{"i"}, "n": nil, "m": object{"n": nil}},
	}
	before := (&unstructured.Unstructured{Object: values}).DeepCopy().Object
	handler.FillAbsent(u.Object, values)
	wantSame(t, u.Object, nil, head+`"metadata":{"name":"web","labels":{"l":"v"}},"spec":{"a":null,"b":{"c":null,"d":1,"g":["i"]},"e":"x","f":[]}}`)
	u.Object["spec"].(object)["b"].(object)["g"].([]any)[0] = "changed"
	if !reflect.DeepEqual(values, before) {
		t.Errorf("the values were changed: %v", values)
	}
}
