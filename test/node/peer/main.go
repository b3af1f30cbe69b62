// Command peer is what runs in pods that a story needs besides those it is about. It is also what keeps the namespaces of
// every pod of the node.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"
)

const usage = `usage: peer pause        until it is told to end
       peer get URL      print the status and the body of what is there; exit code 1 when nothing answers`

func main() {
	var err error
	switch {
	case len(os.Args) == 2 && os.Args[1] == "pause":
		pause()
	case len(os.Args) == 3 && os.Args[1] == "get":
		err = get(os.Args[2])
	default:
		err = fmt.Errorf("%s", usage)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// pause returns once the process is told to end.
func pause() {
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM, syscall.SIGINT)
	<-told
}

// get prints what a server answers.
func get(url string) error {
	resp, err := (&http.Client{Timeout: 5 * time.Second}).Get(url)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Println(resp.Status)
	_, err = io.Copy(os.Stdout, resp.Body)
	return err
}
