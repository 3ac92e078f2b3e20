package node_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

// beApp is the program of the tests' containers.
func beApp(args []string) {
	switch args[0] {
	case "serve":
		serve(args[1:])
	case "exit": // with a code, and the text of a termination message
		code, _ := strconv.Atoi(args[1])
		fmt.Println("the last line")
		if len(args) > 3 {
			_ = os.WriteFile(args[2], []byte(args[3]), 0o600)
		}
		os.Exit(code)
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		fmt.Println("stubborn")
		time.Sleep(time.Hour)
	case "node":
		if err := beNode(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case "whoami":
		whoami()
	case "print":
		_ = json.NewEncoder(os.Stdout).Encode(printed{Args: args[1:], Env: os.Environ()})
	}
	os.Exit(0)
}

type printed struct{ Args, Env []string }

// serve answers until SIGTERM. /file?path= shows a file, /ready fails as long
// as the file of the first argument holds "no", /slow takes a while.
func serve(args []string) {
	mux := http.NewServeMux()
	mux.HandleFunc("/pid", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getpid()) })
	mux.HandleFunc("/version", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, os.Getenv("VERSION")) })
	mux.HandleFunc("/file", func(w http.ResponseWriter, r *http.Request) { http.ServeFile(w, r, r.FormValue("path")) })
	mux.HandleFunc("/ready", func(w http.ResponseWriter, _ *http.Request) {
		if len(args) > 0 {
			if text, err := os.ReadFile(args[0]); err != nil || string(text) == "no" {
				http.Error(w, "not yet", http.StatusServiceUnavailable)
			}
		}
	})
	server := &http.Server{Addr: os.Getenv("DOGEAR_HTTP_ADDRESS"), Handler: mux, ReadHeaderTimeout: time.Minute}
	server.SetKeepAlivesEnabled(false)
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer cancel()
	go func() {
		<-ctx.Done()
		_ = server.Shutdown(context.Background())
		os.Exit(0)
	}()
	fmt.Println(server.ListenAndServe())
	<-ctx.Done()
	select {} // Shutdown exits
}

// whoami asks the API server, and for what only an administrator may.
func whoami() {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	clients := kubernetes.NewForConfigOrDie(config)
	ctx := context.Background()
	review, err := clients.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	fmt.Println("user:", review.Status.UserInfo.Username, err)
	_, err = clients.CoreV1().Secrets("").List(ctx, metav1.ListOptions{})
	fmt.Println("secrets:", err)
}
