package main

import (
	"bufio"
	"context"
	"fmt"
	"strings"
)

// natsAttacks attack the listener for subscribers of events.
func natsAttacks() (all []attack) {
	const nobody, violation = `{"verbose":false}`, "Violation"
	subscribe := func(name string, at mode, hello, subject, right string) {
		all = append(all, natsAttack(name+": subscribe "+subject, at, hello, "SUB "+subject+" 1", right))
	}
	publish := func(name string, at mode, hello, subject string) {
		all = append(all, natsAttack(name+": publish "+subject, at, hello, "PUB "+subject+" answers.here 2\r\n{}", violation))
	}
	closedSubjects := []string{">", "*", "*.>", "*.*.>", "log", "log.>", "told.>", "$SYS.>", "$SYS.ACCOUNT.>", "$JS.>", "$JS.API.>", "$JS.EVENT.>", "$JS.ACK.>", "$KV.>", "$O.>", "$O.UPLOADS.>", "$SRV.>", "_R_.>", "_GR_.>", "$NRG.>", "$MQTT.>", "$G.>"}
	asked := []string{
		"log", "told.task.ann.x", "event.task.ann.x", "event.volume.ann.x", "$JS.API.INFO", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.STREAM.INFO.LOG", "$JS.API.STREAM.INFO.EVENTS", "$JS.API.STREAM.CREATE.X", "$JS.API.STREAM.UPDATE.LOG",
		"$JS.API.STREAM.DELETE.LOG", "$JS.API.STREAM.PURGE.LOG", "$JS.API.STREAM.MSG.GET.LOG", "$JS.API.STREAM.MSG.DELETE.LOG", "$JS.API.STREAM.SNAPSHOT.LOG", "$JS.API.STREAM.RESTORE.X", "$JS.API.STREAM.LEADER.STEPDOWN.LOG", "$JS.API.META.LEADER.STEPDOWN", "$JS.API.DIRECT.GET.LOG", "$JS.API.DIRECT.GET.LOG.log",
		"$JS.API.DIRECT.GET.OBJ_UPLOADS", "$JS.API.CONSUMER.CREATE.EVENTS", "$JS.API.CONSUMER.CREATE.LOG.x", "$JS.API.CONSUMER.DURABLE.CREATE.EVENTS.x", "$JS.API.CONSUMER.LIST.LOG", "$JS.API.CONSUMER.MSG.NEXT.LOG.x", "$JS.API.CONSUMER.DELETE.LOG.x", "$JS.API.ACCOUNT.PURGE.$G", "$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.INFO", "$JS.ACK.LOG.x.1.1.1.1.1", "$O.UPLOADS.C.x", "_INBOX.x",
	}
	for _, subject := range closedSubjects {
		subscribe("nobody", byHeader, nobody, subject, violation)
	}
	for _, subject := range asked {
		publish("nobody", byHeader, nobody, subject)
	}
	for name, hello := range byName(map[string]string{
		"sys": `{"user":"sys","pass":"sys"}`, "$SYS": `{"user":"$SYS","pass":""}`, "server": `{"user":"server","pass":""}`, "k8s-cli": `{"user":"k8s-cli","pass":""}`,
		"a false NKey": `{"nkey":"UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4","sig":"AAAA"}`, "a JWT": `{"jwt":"eyJ0eXAiOiJKV1QiLCJhbGciOiJub25lIn0.e30.","sig":"AAAA"}`, "an account": `{"account":"$SYS"}`, "an account of our own": `{"account":"x","new_account":true}`,
	}) {
		all = append(all, natsAttack("user "+name, byHeader, hello, "SUB $SYS.> 1\r\nSUB > 2", violation))
	}
	all = append(all, control(natsAttack("nobody: subscribe event.>", byHeader, nobody, "SUB event.> 1", "PONG")))

	token := func(user string) string { return fmt.Sprintf(`{"auth_token":%q}`, tokenOf(user)) }
	for name, hello := range byName(map[string]string{
		"none": nobody, "wrong": `{"auth_token":"wrong"}`, "a name": `{"auth_token":"ann"}`, "a user without one": `{"user":"ann"}`, "a user and a wrong one": `{"user":"ann","pass":"x"}`, "the token as a user": fmt.Sprintf(`{"user":%q}`, tokenOf("ann")), "expired": token("eve"),
		"a false NKey": `{"nkey":"UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4","sig":"AAAA"}`, "its hash": fmt.Sprintf(`{"auth_token":%q}`, hashOf(tokenOf("ann"))), "the user *": `{"user":"*","pass":"*"}`,
	}) {
		all = append(all, natsAttack("token: "+name, byToken, hello, "SUB event.> 1", "Authorization Violation"))
	}
	for _, user := range []string{"bob", "*", ">", "ann.>"} {
		for _, subject := range []string{">", "event.>", "event.*.ann.>", "event.*.*.>", "event.task.*.*", "event.*.>", "_INBOX.>", "told.>", "$JS.API.>", "$SYS.>"} {
			subscribe(user, byToken, token(user), subject, violation)
		}
		for _, subject := range []string{"event.task.ann.x", "log", "told.task.ann.x", "$JS.API.DIRECT.GET.EVENTS", "$JS.API.DIRECT.GET.EVENTS.event.task.ann.x", "_INBOX.x", "$JS.API.STREAM.INFO.LOG"} {
			publish(user, byToken, token(user), subject)
		}
	}
	return append(all,
		control(natsAttack("bob: subscribe his own", byToken, token("bob"), "SUB event.*.bob.> 1", "PONG")),
		control(natsAttack("root: subscribe event.>", byToken, token("root"), "SUB event.> 1", "PONG")),
	)
}

// natsAttack connects to the listener with the options hello, sends a command and expects an
// answer.
func natsAttack(name string, at mode, hello, command, right string) attack {
	return attack{name: name, want: right, try: func(ctx context.Context, w *environment) result {
		s, err := w.serve(ctx, at)
		if err != nil {
			return result{got: err.Error()}
		}
		got, err := natsSays(ctx, s.nats, hello, command)
		if err != nil {
			return result{sent: command, got: err.Error()}
		}
		return result{sent: hello + " " + command, got: got, held: strings.Contains(got, right) && (right != "PONG" || !strings.Contains(got, "-ERR"))}
	}}
}

// natsSays returns the answer of a NATS server to a command, up to the next PONG.
func natsSays(ctx context.Context, address, hello, command string) (string, error) {
	conn, err := dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer conn.Close()
	in := bufio.NewReader(conn)
	if _, err := in.ReadString('\n'); err != nil { // the INFO line
		return "", err
	}
	if _, err := fmt.Fprintf(conn, "CONNECT %s\r\n%s\r\nPING\r\n", hello, command); err != nil {
		return "", err
	}
	var said strings.Builder
	for {
		line, err := in.ReadString('\n')
		said.WriteString(line)
		if err != nil || strings.HasPrefix(line, "PONG") {
			return said.String(), nil // the server may close the connection instead
		}
		if strings.HasPrefix(line, "PING") {
			_, _ = fmt.Fprint(conn, "PONG\r\n")
		}
	}
}
