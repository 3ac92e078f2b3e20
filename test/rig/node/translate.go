package node

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// accountPath is where programs look for their token in a cluster.
const accountPath = "/var/run/secrets/kubernetes.io/serviceaccount"

// translate changes what a process cannot have as its Pod says, and adds what
// it cannot find.
func (w *worker) translate(pod *corev1.Pod, c *corev1.Container, vars *variables) error {
	for name, value := range vars.values {
		vars.values[name] = w.mounts[c.Name].rewrite(value)
	}
	for _, port := range c.Ports {
		if port.Name != "" {
			name := strings.ToUpper(strings.ReplaceAll(port.Name, "-", "_"))
			vars.set("DOGEAR_"+name+"_ADDRESS", net.JoinHostPort(w.address, strconv.Itoa(int(port.ContainerPort))))
		}
	}
	server, err := url.Parse(w.node.cp.URL())
	if err != nil {
		return err
	}
	kubeconfig := filepath.Join(w.folder, c.Name+".kubeconfig")
	vars.set("KUBERNETES_SERVICE_HOST", server.Hostname())
	vars.set("KUBERNETES_SERVICE_PORT", server.Port())
	vars.set("KUBECONFIG", kubeconfig)
	return w.kubeconfig(pod, c, kubeconfig)
}

// kubeconfig writes what a process in a cluster would find at accountPath. The
// token is named, not copied: it changes.
func (w *worker) kubeconfig(pod *corev1.Pod, c *corev1.Container, path string) error {
	file := clientcmdapi.NewConfig()
	file.Clusters["rig"] = &clientcmdapi.Cluster{Server: w.node.cp.URL(), CertificateAuthorityData: w.node.cp.CA()}
	file.Contexts["rig"] = &clientcmdapi.Context{Cluster: "rig", AuthInfo: "pod", Namespace: pod.Namespace}
	file.AuthInfos["pod"] = &clientcmdapi.AuthInfo{TokenFile: w.tokenFile(pod, c)}
	file.CurrentContext = "rig"
	if err := os.MkdirAll(w.folder, 0o700); err != nil {
		return err
	}
	return clientcmd.WriteToFile(*file, path)
}

// tokenFile returns the real path of a container's token for the API server,
// that at accountPath if there are several, and "" if there is none.
func (w *worker) tokenFile(pod *corev1.Pod, c *corev1.Container) string {
	found := ""
	for _, mount := range c.VolumeMounts {
		i := slices.IndexFunc(pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
		if i < 0 || pod.Spec.Volumes[i].Projected == nil || found != "" && mount.MountPath != accountPath {
			continue
		}
		for _, source := range pod.Spec.Volumes[i].Projected.Sources {
			if token := source.ServiceAccountToken; token != nil && token.Audience == "" {
				found = w.mounts[c.Name].rewrite(filepath.Join(mount.MountPath, token.Path))
			}
		}
	}
	return found
}
