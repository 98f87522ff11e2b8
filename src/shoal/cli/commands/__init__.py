"""One file per command: parse, call one public function, show what came back."""
