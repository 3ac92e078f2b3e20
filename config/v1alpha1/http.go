package v1alpha1

// HTTP is an endpoint: it gets a POST with a HandlerReview and answers with
// one. Exactly one of service and url is set.
//
// +kubebuilder:validation:XValidation:rule="has(self.service) != has(self.url)",message="set either service (in this cluster) or url (elsewhere; the installation's settings must allow its prefix)"
// +kubebuilder:validation:XValidation:rule="!has(self.plaintext) || !self.plaintext || has(self.service)",message="plaintext is for services only: a url is always https"
// +kubebuilder:validation:XValidation:rule="!has(self.plaintext) || !self.plaintext || !(has(self.caBundle) || has(self.caSecretRef) || has(self.clientCertificateSecretRef))",message="plaintext has no certificates: remove plaintext, or caBundle, caSecretRef and clientCertificateSecretRef"
// +kubebuilder:validation:XValidation:rule="!has(self.caBundle) || !has(self.caSecretRef)",message="set either caBundle or caSecretRef"
type HTTP struct {
	// The endpoint is a Service of this cluster. Its ClusterIP is called; a
	// Service of type ExternalName or without a ClusterIP is refused.
	// +optional
	Service *ServiceReference `json:"service,omitempty"`
	// The endpoint is anywhere: an https URL without user, password and
	// fragment. Its prefix must be allowed by the installation's settings
	// (urlPrefixes), and it must not lead to a loopback, link-local, metadata
	// or private address. Redirects are not followed.
	// +optional
	// +kubebuilder:validation:MaxLength=2048
	// +kubebuilder:validation:XValidation:rule="self.matches('^https://[^/?#@\\\\s]+(/[^#\\\\s]*)?$')",message="want an https URL without user, password and fragment, such as https://hooks.example.com/certificates"
	URL string `json:"url,omitempty"`
	// Calls a Service by http instead of https: whoever can read the cluster's
	// network can then read the objects. Only with service.
	// +optional
	Plaintext bool `json:"plaintext,omitempty"`

	// How long an attempt may take in all, connecting and reading the answer
	// included; from 100ms to 5m. For longer work answer Waiting. Default: 10s.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || (duration(self) >= duration('100ms') && duration(self) <= duration('5m'))",message="want 100ms to 5m; for longer work answer Waiting"
	Timeout *Duration `json:"timeout,omitempty"`
	// How long the dial and the TLS handshake may take, each. Default: 3s, or
	// timeout if that is shorter.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || (duration(self) >= duration('10ms') && duration(self) <= duration('5m'))",message="want 10ms to 5m"
	ConnectTimeout *Duration `json:"connectTimeout,omitempty"`
	// How long the header of the answer may be waited for once the request is
	// sent. Default: timeout.
	// +optional
	// +kubebuilder:validation:XValidation:rule="!self.matches('^([0-9]{1,5}([.][0-9]{1,3})?(ms|s|m|h))+$') || (duration(self) >= duration('10ms') && duration(self) <= duration('5m'))",message="want 10ms to 5m"
	HeaderTimeout *Duration `json:"headerTimeout,omitempty"`

	// The Secret with the key that signs requests by the Standard Webhooks
	// scheme: its entry "key" and, while keys are changed, "previous", which
	// signs as well. A key is text: whsec_ and 24 to 64 bytes in base64. The
	// Secret is re-read when it changes. Default: requests are not signed.
	// +optional
	SecretRef *SecretReference `json:"secretRef,omitempty"`
	// PEM certificates (base64 in YAML) of the authorities that may have signed
	// the endpoint's certificate. Default: those of the system.
	// +optional
	// +kubebuilder:validation:MaxLength=262144
	CABundle []byte `json:"caBundle,omitempty"`
	// The Secret with these certificates in its entry ca.crt, instead of
	// caBundle. It is re-read when it changes.
	// +optional
	CASecretRef *SecretReference `json:"caSecretRef,omitempty"`
	// The Secret with the client certificate that Dogear shows (mutual TLS), in
	// its entries tls.crt and tls.key. It is re-read when it changes.
	// +optional
	ClientCertificateSecretRef *SecretReference `json:"clientCertificateSecretRef,omitempty"`

	// The number of requests of this handler that may be in flight at the same
	// time; so many objects it runs on at most. Whatever is set, a handler gets
	// no more than a quarter of the workers of the installation's settings (64),
	// one of a HandlerSet no more than an eighth: others need theirs.
	// +optional
	// +kubebuilder:default=8
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=256
	Concurrency int32 `json:"concurrency,omitempty"`
	// The number of requests a second, on average. Default: no limit.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=10000
	RatePerSecond int32 `json:"ratePerSecond,omitempty"`

	// Sends only these fields of object and old, in the words of fields, without
	// items of lists; and only their changes. apiVersion, kind and metadata's name, namespace, uid, generation,
	// resourceVersion, creationTimestamp and deletionTimestamp are always sent;
	// managedFields never. Default: the whole object.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=512
	// +kubebuilder:validation:XValidation:rule="self.all(path, !path.contains('='))",message="items of lists cannot be picked: name the list, which is sent as a whole"
	Projection []string `json:"projection,omitempty"`
	// Sends the values of Secrets. Default: each value in data and stringData is
	// replaced by "", and annotations in which tools keep a copy are left out. Only for sets whose resource is
	// secrets, which the installation's settings must allow.
	// +optional
	IncludeSecretData bool `json:"includeSecretData,omitempty"`
}

// ServiceReference names a Service.
type ServiceReference struct {
	// The Service's namespace. Required in a ClusterHandlerSet; not in a
	// HandlerSet, where it is that of the set.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="want the name of a namespace"
	Namespace string `json:"namespace,omitempty"`
	// The Service's name.
	// +required
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')",message="want the name of a Service, without namespace and domain"
	Name string `json:"name"`
	// The Service's port. Default: 443, with plaintext 80.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
	// The path of requests. Default: "/".
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	// +kubebuilder:validation:XValidation:rule="self.matches('^/[^?#\\\\s]*$')",message="want a path that begins with a slash, such as /certificates"
	Path string `json:"path,omitempty"`
}

// SecretReference names a Secret.
type SecretReference struct {
	// The Secret's namespace. Default: that of the Service. Required in a
	// ClusterHandlerSet with url; not in a HandlerSet, where it is that of the set.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$')",message="want the name of a namespace"
	Namespace string `json:"namespace,omitempty"`
	// The Secret's name.
	// +required
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:XValidation:rule="self.matches('^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$')",message="want the name of a Secret, without namespace"
	Name string `json:"name"`
}

// Entries of the Secrets that a set refers to.
const (
	SigningKey         = "key"
	SigningKeyPrevious = "previous"
	CACertificate      = "ca.crt"
	ClientCertificate  = "tls.crt"
	ClientKey          = "tls.key"
)
