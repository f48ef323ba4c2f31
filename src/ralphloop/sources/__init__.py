"""Where stories come from: texts in, values out; nothing here touches the disk."""
