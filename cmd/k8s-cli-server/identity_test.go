package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"k8s-cli/pkg/task"
	"k8s-cli/test/testkit/must"
)

func TestIdentitySettings(t *testing.T) {
	c, err := parse(map[string]string{"K8S_CLI_AUTH": "oidc", "K8S_CLI_OIDC_ISSUER": "https://id.example/realm"},
		"--oidc-client-id=k8s-cli", "--oidc-user-claim=email", "--admins", "root@example.com, group:ops", "--tls-cert=/c", "--tls-key=/k")
	must.Succeed(t, err)
	want := identityConfig{
		by: "oidc", issuer: "https://id.example/realm", clientID: "k8s-cli", userClaim: "email", groupClaim: "groups",
		admins: "root@example.com, group:ops", tlsCert: "/c", tlsKey: "/k",
	}
	if diff := cmp.Diff(want, c.identity, settings); diff != "" {
		t.Errorf("settings (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(task.Admins{"root@example.com", "group:ops"}, c.identity.administrators()); diff != "" {
		t.Errorf("administrators (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(task.Login{By: "oidc", Issuer: "https://id.example/realm", ClientID: "k8s-cli"}, c.identity.login()); diff != "" {
		t.Errorf("how to log in (-want +got):\n%s", diff)
	}
}

func TestIdentitySettingsThatMakeNoSense(t *testing.T) {
	for _, tt := range []struct{ args, want string }{
		{"--auth=magic", `--auth: "magic" is not one of header, token, tokenreview, oidc`},
		{"--auth=token", "--auth token requires --tokens-file"},
		{"--tokens-file=/t", "--tokens-file requires --auth token"},
		{"--token-audience=a", "--token-audience requires --auth tokenreview"},
		{"--auth=oidc --oidc-client-id=c", `--oidc-issuer: "" is not the URL of an issuer`},
		{"--auth=oidc --oidc-issuer=ldap://x --oidc-client-id=c", `--oidc-issuer: "ldap://x" is not the URL of an issuer`},
		{"--auth=oidc --oidc-issuer=https://x", "--auth oidc requires --oidc-client-id"},
		{"--trusted-proxies=10.0.0.0/33", "--trusted-proxies: \"10.0.0.0/33\" is neither a network"},
		{"--auth=token --tokens-file=/t --allowed-hosts=a.example", "--allowed-hosts requires --auth header"},
		{"--allowed-hosts=a.example,http://b.example", `--allowed-hosts: "http://b.example" is not a host name`},
		{"--admins=group:", "--admins: \"group:\": is empty"},
		{"--tls-cert=/c", "--tls-cert and --tls-key must be set together"},
		{"--max-active-tasks=-1", "--max-active-tasks and --max-waiting-tasks: -1 and 0 must both be at least 0"},
		{"--max-log-streams=0", "--max-open-log-streams and --max-log-streams: 4000 and 0 must be a total"},
		{"--max-event-streams=400", "--max-event-streams and --max-event-streams-per-user: 400 and 500 must be a total of at least 2 and a smaller number"},
		{"--submit-rate=-0.5", "--submit-rate and --submit-burst: -0.5 and 0 must both be at least 0"},
		{"--submit-burst=5", "--submit-burst requires --submit-rate"},
		{"--admin-listen=9000", "--admin-listen: \"9000\" is not host:port"},
		{"--tls-key=/k", "--tls-cert and --tls-key must be set together"},
	} {
		if _, err := parse(nil, strings.Fields(tt.args)...); !errors.Is(err, errUsage) || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %v, want a usage error with %q", tt.args, err, tt.want)
		}
	}
}
