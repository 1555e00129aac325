package sbom

const (
	documentID = "SPDXRef-DOCUMENT"
	unknown    = "NOASSERTION"
)

// A Document is an SPDX 2.3 document, reduced to the fields that the product writes.
type Document struct {
	Version       string         `json:"spdxVersion"`
	DataLicense   string         `json:"dataLicense"`
	ID            string         `json:"SPDXID"`
	Name          string         `json:"name"`
	Namespace     string         `json:"documentNamespace"`
	CreationInfo  CreationInfo   `json:"creationInfo"`
	Packages      []Package      `json:"packages"`
	Relationships []Relationship `json:"relationships"`
}

// CreationInfo says when and by which tool a document was created.
type CreationInfo struct {
	Created  string   `json:"created"`
	Creators []string `json:"creators"`
}

// A Package is an image, a program or a module.
type Package struct {
	ID               string      `json:"SPDXID"`
	Name             string      `json:"name"`
	VersionInfo      string      `json:"versionInfo,omitempty"`
	Purpose          string      `json:"primaryPackagePurpose"`
	DownloadLocation string      `json:"downloadLocation"`
	FilesAnalyzed    bool        `json:"filesAnalyzed"`
	LicenseConcluded string      `json:"licenseConcluded"`
	LicenseDeclared  string      `json:"licenseDeclared"`
	Copyright        string      `json:"copyrightText"`
	Checksums        []Checksum  `json:"checksums,omitempty"`
	References       []Reference `json:"externalRefs,omitempty"`
	Comment          string      `json:"comment,omitempty"`
}

// A Checksum is the checksum of a package's file.
type Checksum struct {
	Algorithm string `json:"algorithm"`
	Value     string `json:"checksumValue"`
}

// A Reference identifies a package in another naming scheme, for example as a package
// URL.
type Reference struct {
	Category string `json:"referenceCategory"`
	Type     string `json:"referenceType"`
	Locator  string `json:"referenceLocator"`
}

// A Relationship is a relation between two packages, or between the document and a
// package.
type Relationship struct {
	From string `json:"spdxElementId"`
	Kind string `json:"relationshipType"`
	To   string `json:"relatedSpdxElement"`
}
