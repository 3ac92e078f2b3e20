package storage

import "testing"

func TestBirthDigestIsTheSameBeforeAndAfterAllocation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ admitted, stored string }{
		"Service": {`{"apiVersion":"v1","kind":"Service",
			"metadata":{"name":"shop","namespace":"web","labels":{"app":"shop"}},
			"spec":{"type":"LoadBalancer","selector":{"app":"shop"},
			"ports":[{"name":"http","protocol":"TCP","port":80,"targetPort":8080},{"name":"https","protocol":"TCP","port":443,"targetPort":"tls"}],
			"allocateLoadBalancerNodePorts":true,"externalTrafficPolicy":"Local","internalTrafficPolicy":"Cluster","sessionAffinity":"None"},
			"status":{"loadBalancer":{}}}`, service},
		"Namespace": {`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"},"spec":{}}`,
			`{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a","uid":"u"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`},
		"Job": {`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a"},"spec":{"parallelism":1,"template":{"metadata":{}}}}`,
			`{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"a","uid":"u"},"spec":{"parallelism":1,
			"selector":{"matchLabels":{"batch.kubernetes.io/controller-uid":"u"}},"template":{"metadata":{"labels":{"batch.kubernetes.io/controller-uid":"u"}}}}}`},
		"PersistentVolumeClaim": {`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":"a","dataSource":{"kind":"VolumeSnapshot","name":"s"}}}`,
			`{"apiVersion":"v1","kind":"PersistentVolumeClaim","spec":{"storageClassName":"a","dataSource":{"kind":"VolumeSnapshot","name":"s"},"dataSourceRef":{"kind":"VolumeSnapshot","name":"s"}}}`},
		"CertificateSigningRequest": {`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","spec":{"signerName":"a"}}`,
			`{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","spec":{"signerName":"a","username":"alice","groups":["g"]}}`},
		"ServiceAccount": {`{"apiVersion":"v1","kind":"ServiceAccount","automountServiceAccountToken":true,"secrets":[{"name":"a","namespace":"b"}]}`,
			`{"apiVersion":"v1","kind":"ServiceAccount","automountServiceAccountToken":true,"secrets":[{"name":"a"}]}`},
		"DaemonSet": {`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"annotations":{"deprecated.daemonset.template.generation":"0"}},"spec":{"a":1}}`,
			`{"apiVersion":"apps/v1","kind":"DaemonSet","metadata":{"annotations":{"deprecated.daemonset.template.generation":"1"}},"spec":{"a":1}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			admitted, stored := decode(t, c.admitted), decode(t, c.stored)
			if (Rules{}).BirthDigest(admitted) != (Rules{}).BirthDigest(stored) {
				t.Errorf("essences at birth differ:\n%s\n%s", Rules{}.Essence(unborn(admitted)), Rules{}.Essence(unborn(stored)))
			}
		})
	}
}

func TestBirthDigestSeesTheUsersFields(t *testing.T) {
	t.Parallel()
	want := Rules{}.BirthDigest(decode(t, service))
	port := func(name string, value any) func(map[string]any) {
		return func(object map[string]any) {
			object["spec"].(map[string]any)["ports"].([]any)[0].(map[string]any)[name] = value
		}
	}
	for _, v := range []variant{
		{"type", set("NodePort", "spec", "type")},
		{"selector", set("x", "spec", "selector", "app")},
		{"a port", port("port", int64(81))},
		{"a target port", port("targetPort", int64(81))},
		{"a label", set("x", "metadata", "labels", "app")},
		{"another root", set("x", "data")},
	} {
		object := decode(t, service)
		v.change(object)
		if (Rules{}).BirthDigest(object) == want {
			t.Errorf("%s does not count", v.name)
		}
	}
	object := decode(t, service)
	port("nodePort", int64(30000))(object)
	if (Rules{}).Digest(object) == (Rules{}).Digest(decode(t, service)) {
		t.Error("after birth, a node port must count")
	}
}

func TestBirthDigestOfOtherKindsIsTheDigest(t *testing.T) {
	t.Parallel()
	for _, text := range []string{certificate, `{}`, `{"apiVersion":"v1","kind":"Service","spec":"odd"}`,
		`{"apiVersion":"example.com/v1","kind":"Service","spec":{"clusterIP":"x"}}`} {
		object := decode(t, text)
		if (Rules{}).BirthDigest(object) != (Rules{}).Digest(object) {
			t.Errorf("they differ for %s", text)
		}
	}
}
