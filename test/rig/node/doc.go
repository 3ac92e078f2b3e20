// Package node runs the containers of Pods as processes of this machine, so
// that what is installed on the control plane of package rig really runs: it
// plays the scheduler, the kubelet of one node and kube-proxy. Everything else
// (Deployments, Jobs, EndpointSlices, PodSecurity, tokens) is done by the real
// API server and controller manager.
//
//	cp, _ := rig.Start(ctx, rig.Options{ControllerManager: true, Controllers: node.Controllers})
//	n, _ := node.Start(ctx, cp, node.Options{Images: map[string]string{"example.com/app": "bin/app"}})
//
// A process has no image, no mount namespace and no network of its own. So a
// container differs from its Pod's words in three things, and in no others:
//
//   - Paths. Volumes are folders below that of the control plane. Where the
//     path of a volumeMount (or terminationMessagePath) occurs in command, args,
//     values of variables and files of ConfigMaps, the real path replaces it.
//     It counts as a whole path alone: /etc/app is not part of /etc/app-tls.
//   - Addresses. A Pod has the loopback address 127.A.B.n, on which its
//     processes must listen: for each named port they find it in a variable,
//     DOGEAR_WEBHOOK_ADDRESS=127.A.B.n:9443 for a port "webhook", and
//     status.podIP as a variable gives 127.A.B.n. The API server refuses
//     loopback addresses as endpoints, so in the Pod's own status, and all that
//     is made from it, the address is 10.A.B.n: see Address.
//   - The API server. KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT lead
//     to that of the rig, and as there is no well-known path for a token,
//     KUBECONFIG names a file that uses the Pod's projected token, or no
//     credential if the Pod has none. It is not the administrator's.
//
// Apart from these the environment of a process is what the Pod says: nothing
// is inherited. A container's command replaces the arguments; its first word
// stands for the image's program, whatever it is.
//
// What is not there: init and ephemeral containers, probes and hooks that run
// a command, persistent volumes, users, resource limits and read-only root
// file systems (the API server's PodSecurity still judges the Pod), deadlines
// of Pods, variables of Services, events, readiness gates, UDP, and what needs
// the API of a kubelet, such as kubectl logs. A Pod that needs one of the first
// three waits, with the reason in the status of its containers. A probe that
// fails is repeated soon, so that what gets ready is ready at once. Restarts
// back off for at most 4 s. livenessProbe is not acted on, for tests pause
// processes to see what others make of it, and a restart would undo that.
package node
