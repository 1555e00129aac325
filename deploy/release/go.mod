module k8s-cli/deploy/release

go 1.26.0

require k8s-cli/deploy/image v0.0.0

replace k8s-cli/deploy/image => ../image
