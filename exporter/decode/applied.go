package decode

import "bytes"

// lastAppliedAnnotation is corev1.LastAppliedConfigAnnotation: what kubectl apply last sent, as JSON.
const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"

// lastApplied reports whether kubectl apply last sent a list with this name that is not empty.
func (r *Reader) lastApplied(metaData []byte, list string) bool {
	sent := bytes.TrimSpace(r.entry(metaData, metaAnnotations, lastAppliedAnnotation))
	elements, isList := bytes.CutPrefix(bytes.TrimLeft(member(sent, list), " \n\r\t"), []byte("["))
	return isList && !bytes.HasPrefix(bytes.TrimLeft(elements, " \n\r\t"), []byte("]"))
}
