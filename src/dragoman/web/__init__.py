"""The pages that servers show: HTML, ES modules and style sheets."""
