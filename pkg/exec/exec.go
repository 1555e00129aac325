// Package exec defines the messages of exec sessions in the pods of tasks. A session is a
// command with its streams, or one connection to a port, over one WebSocket connection between
// a client and the server. Each binary message begins with the number of a channel, as in the
// protocol v5.channel.k8s.io of Kubernetes.
package exec

import "io"

// Protocol is the name and the version of the protocol, in the header Sec-WebSocket-Protocol.
const Protocol = "v1.session.k8s-cli"

// The channels. A connection to a port uses Stdin and Stdout for its two directions.
const (
	Stdin  byte = 0   // from the client
	Stdout byte = 1   // from the server
	Stderr byte = 2   // from the server; unused with a terminal
	Status byte = 3   // from the server, last: an End as JSON
	Resize byte = 4   // from the client: a Size as JSON
	Close  byte = 255 // from the client: the number of the channel that has ended, which is Stdin
)

// MaxData is the largest number of bytes of one message after the number of the channel.
const MaxData = 32 << 10

// A Size is the size of a terminal, in characters.
type Size struct {
	Width  uint16 `json:"Width"`
	Height uint16 `json:"Height"`
}

// An End says how a session ended.
type End struct {
	ExitCode *int   `json:"exit_code,omitempty"` // of the command; absent if the server does not know it
	Error    string `json:"error,omitempty"`     // why the session ended, if not by the end of the command or the connection
}

// A Target is the pod of one node of a task.
type Target struct {
	Task string
	Node int
	Pod  string
	UID  string
}

// Streams are the streams of a session. Stdin ends with io.EOF when the client has closed its
// channel.
type Streams struct {
	Stdin  io.Reader // nil if the command has none
	Stdout io.Writer
	Stderr io.Writer   // nil with a terminal
	Sizes  <-chan Size // of the terminal; the channel is never closed
}

// A Command is a command in the container of a task.
type Command struct {
	Args []string
	TTY  bool // the command gets a terminal
}
