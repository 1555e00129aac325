package auth

import (
	"crypto/tls"
	"fmt"
	"log/slog"
)

// ServerTLSConfig returns the TLS configuration of a server with a certificate and a key from two
// files. The server reads both files again when the certificate file changes.
func ServerTLSConfig(certFile, keyFile string, logger *slog.Logger) (*tls.Config, error) {
	pair, err := openFile(certFile, func(path string) (*tls.Certificate, error) {
		c, err := tls.LoadX509KeyPair(path, keyFile)
		if err != nil {
			return nil, fmt.Errorf("certificate and key: %w", err)
		}
		return &c, nil
	}, logger)
	if err != nil {
		return nil, err
	}
	return &tls.Config{
		MinVersion:     tls.VersionTLS12,
		NextProtos:     []string{"http/1.1"},
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.get(), nil },
	}, nil
}
