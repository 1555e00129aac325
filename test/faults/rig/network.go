package rig

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"k8s-cli/test/testkit"
)

// nodeConfig is the configuration of a NATS node whose routes are links. Nodes advertise a
// port on which no process listens, so that no node and no client learns an address that
// bypasses the links.
const nodeConfig = `server_name: %q
listen: "127.0.0.1:%d"
jetstream { store_dir: %q }
cluster {
  name: faults
  listen: "127.0.0.1:%d"
  advertise: "127.0.0.1:1"
  no_advertise: true
  pool_size: -1
  compression: off
  routes: [%s]
}
`

// linkNodes creates a link for each pair of nodes and returns the paths of the nodes'
// configurations. The node with the lower number dials through the link. The other node of
// the pair gets a route to a port on which no process listens, because JetStream derives the
// number of nodes from the routes. Without links there are no configurations.
func (r *Rig) linkNodes(ports, peers []int) (configs []string, err error) {
	if !r.config.Links {
		return nil, nil
	}
	for i := range peers {
		var routes []string
		for j := range i {
			routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", j+1))
		}
		for j := i + 1; j < len(peers); j++ {
			l, err := r.link(nodeName(i), nodeName(j), peers[j])
			if err != nil {
				return nil, err
			}
			routes = append(routes, "nats://"+l.Address())
		}
		path := r.path(nodeName(i) + ".conf")
		text := fmt.Appendf(nil, nodeConfig, nodeName(i), ports[i], r.path(nodeName(i)), peers[i], strings.Join(routes, ", "))
		if err := os.WriteFile(path, text, 0o600); err != nil {
			return nil, fmt.Errorf("configure %s: %w", nodeName(i), err)
		}
		configs = append(configs, path)
	}
	return configs, nil
}

// linkServer creates links from a server to all nodes and returns their URLs. The first URL
// is of the node that the server prefers.
func (r *Rig) linkServer(s *Server) (urls string, err error) {
	for _, n := range r.Nodes {
		l, err := r.link(s.Name, n.Name, n.port)
		if err != nil {
			return "", err
		}
		s.Links = append(s.Links, l)
	}
	first := len(r.Servers) % len(r.Nodes)
	var all []string
	for i := range s.Links {
		all = append(all, "nats://"+s.Links[(first+i)%len(s.Links)].Address())
	}
	return strings.Join(all, ","), nil
}

func (r *Rig) link(from, to string, port int) (*testkit.Link, error) {
	l, err := testkit.NewLink(fmt.Sprintf("127.0.0.1:%d", r.port()), fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		l.From, l.To = from, to
		r.links = append(r.links, l)
	}
	return l, err
}

func nodeName(i int) string { return fmt.Sprintf("nats-%d", i) }

// A Division is the condition of the links between two sides.
type Division struct {
	Cut     bool          // connections are reset, new ones are refused
	Out, In bool          // bytes that leave (Out) or reach (In) the separated side vanish
	Rate    int           // bytes per second; 0 means no limit
	Latency time.Duration // in each direction
}

// Divide puts every link between the named nodes and servers and all others into the
// condition of the division.
func (r *Rig) Divide(d Division, apart ...string) error {
	off := map[string]bool{}
	for _, name := range apart {
		off[name] = true
	}
	var errs error
	for _, l := range r.links {
		if off[l.From] != off[l.To] {
			errs = errors.Join(errs, l.Set(d.condition(off[l.From])))
		}
	}
	return errs
}

// DivideLink puts only the links between two parties into the condition. a is the separated
// side.
func (r *Rig) DivideLink(d Division, a, b string) error {
	var errs error
	for _, l := range r.links {
		if l.From == a && l.To == b || l.From == b && l.To == a {
			errs = errors.Join(errs, l.Set(d.condition(l.From == a)))
		}
	}
	return errs
}

// condition returns the condition of a link. dials says whether the dialing end is
// separated.
func (d Division) condition(dials bool) testkit.Condition {
	c := testkit.Condition{Cut: d.Cut, Forth: d.Out, Back: d.In, Rate: d.Rate, Latency: d.Latency}
	if !dials {
		c.Forth, c.Back = d.In, d.Out
	}
	return c
}

// Heal makes all links healthy.
func (r *Rig) Heal() error {
	var errs error
	for _, l := range r.links {
		errs = errors.Join(errs, l.Heal())
	}
	return errs
}

// Attach makes a server connect to one node. Attach cuts the links to the other nodes until
// the server is connected.
func (r *Rig) Attach(ctx context.Context, s *Server, node *Node) (err error) {
	for i, l := range s.Links {
		if r.Nodes[i] == node {
			continue
		}
		err = errors.Join(err, l.Set(testkit.Condition{Cut: true}))
	}
	if err == nil {
		err = testkit.Until(ctx, s.Name+" to connect to "+node.Name, func() (string, bool) {
			return "", s.Node(r) == node
		})
	}
	for _, l := range s.Links {
		err = errors.Join(err, l.Heal())
	}
	return err
}

// Node returns the NATS node to which the server is connected, or nil if it is connected to
// none or to several.
func (s *Server) Node(r *Rig) (node *Node) {
	for i, l := range s.Links {
		switch {
		case l.Connections() == 0:
		case node != nil:
			return nil
		default:
			node = r.Nodes[i]
		}
	}
	return node
}
