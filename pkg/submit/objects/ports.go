package objects

import (
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"k8s-cli/pkg/task"
)

// singlePorts returns the ports that a task declares, without ranges, because Kubernetes has no
// ranges of ports. Each port is returned once.
func singlePorts(r task.Resources) (ports []int32) {
	for _, text := range r.Ports {
		if strings.Contains(text, "-") {
			continue
		}
		port, err := strconv.ParseInt(text, 10, 32)
		if err == nil && !slices.Contains(ports, int32(port)) {
			ports = append(ports, int32(port))
		}
	}
	return ports
}

// portName returns the name of a port in a container and in a Service.
func portName(port int32) string { return "port-" + strconv.Itoa(int(port)) }

// containerPorts declares the ports of a task on its container.
func containerPorts(r task.Resources) (all []corev1.ContainerPort) {
	for _, port := range singlePorts(r) {
		all = append(all, corev1.ContainerPort{Name: portName(port), ContainerPort: port})
	}
	return all
}

// servicePorts declares the ports of a task on the Service of its nodes.
func servicePorts(r task.Resources) (all []corev1.ServicePort) {
	for _, port := range singlePorts(r) {
		all = append(all, corev1.ServicePort{Name: portName(port), Port: port})
	}
	return all
}
