package decode

import "bytes"

// lastAppliedAnnotation is corev1.LastAppliedConfigAnnotation. It holds the JSON of the object that kubectl apply last
// sent.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// lastApplied reports whether the object that kubectl apply last sent has a non-empty list with this name.
func (r *Reader) lastApplied(metaData []byte, list string) bool {
	sent := bytes.TrimSpace(r.entry(metaData, metaAnnotations, lastAppliedAnnotation))
	elements, isList := bytes.CutPrefix(bytes.TrimLeft(member(sent, list), " \n\r\t"), []byte("["))
	return isList && !bytes.HasPrefix(bytes.TrimLeft(elements, " \n\r\t"), []byte("]"))
}
